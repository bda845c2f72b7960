'use strict';

// The page of the playground. It presses a button with POST /play/…, reads one entry a line
// while the scenario runs, and shows it.

const byId = id => document.getElementById(id);
const timeline = document.querySelector('#timeline ol');
const buttons = [...document.querySelectorAll('button[data-scenario]')];
const calm = window.matchMedia('(prefers-reduced-motion: reduce)');
const shown = 120; // entries of the time line

let running = ''; // the scenario that runs; open starts the replicas
let presses = 0; // scenarios that have not ended

// --- what an attempt did, in words ---

// The sentence of an attempt, by its effect.
const sentences = {
  'committed': a => `Replica ${a.replica} charged the balance${a.guarded ? ', stored its response,' : ''} and answered ${answered(a)}.`,
  'replayed': a => `Nothing ran. Replica ${a.replica} answered ${answered(a)} with the stored response, byte for byte.`,
  'recognised': a => `The stored response is gone, and the unique index beside the payment knows the key. ` +
    `Nothing was charged. Replica ${a.replica} answered ${answered(a)} with the first payment.`,
  'refused': a => `Replica ${a.replica} refused with ${a.status} ${code(a)}. Nothing was written` +
    (code(a) === 'idempotency_key_reused' ? ', and the stored response stays hidden.' : '.'),
  'rolled back': a => `Replica ${a.replica} died before COMMIT, and the database rolled everything back. ` +
    'The client saw its connection close.',
  'unknown': a => a.status ? `Replica ${a.replica} answered ${a.status} ${code(a)}.` : 'The client saw its connection close.',
};

const effects = {
  'committed': ['good', 'committed'],
  'replayed': ['quiet', 'record read'],
  'recognised': ['quiet', 'unique index'],
  'refused': ['refused', 'nothing written'],
  'rolled back': ['broken', 'rolled back'],
  'unknown': ['refused', 'unknown'],
};

function answered(a) {
  const status = a.lost ? a.lost.status : a.status;
  const result = a.lost ? a.lost.result : a.result;
  return `${status} ${result}`.trim();
}

function code(a) {
  try {
    return JSON.parse(a.response).code ?? '';
  } catch {
    return '';
  }
}

function sentence(a) {
  if (a.pending) {
    return 'Sent. No response yet.';
  }
  const lost = a.lost ? ' The network lost the answer: the client saw its connection close.' : '';
  return sentences[a.effect](a) + lost;
}

// What came back to the client: how it looks, and its label.
function answer(a) {
  if (a.pending) {
    return ['', 'waiting'];
  }
  if (a.lost) {
    return ['broken', `${answered(a)} lost`];
  }
  if (!a.status) {
    return ['broken', 'closed'];
  }
  return [a.status < 300 ? (a.result === 'reused' ? 'quiet' : 'good') : 'refused', answered(a)];
}

// --- the time line ---

function line(kind, text) {
  const item = document.createElement('li');
  item.className = kind;
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  item.append(paragraph);
  return item;
}

function attemptItem(a) {
  const item = byId('attempt-template').content.firstElementChild.cloneNode(true);
  const set = (selector, text) => { item.querySelector(selector).textContent = text; };
  item.dataset.attempt = `${a.payment}/${a.number}`;
  item.dataset.payment = a.payment;
  item.dataset.effect = a.pending ? 'pending' : a.effect;
  item.dataset.result = a.result;
  set('h3', `Attempt ${a.number}`);
  Object.assign(item.dataset, {began: a.began, ended: a.pending ? '' : a.began + a.millis});
  item.classList.toggle('unguarded', !a.guarded);
  set('.of', `payment ${a.payment}${a.guarded ? '' : ' without the guard'}`);
  set('.process', ` · process ${a.pid}`);
  set('.replica', a.replica);
  set('.millis', a.pending ? '…' : `${a.millis} ms`);
  set('.told', sentence(a));
  mark(item.querySelector('.link.answer'), answer(a));
  mark(item.querySelector('.link.effect'), a.pending ? ['', 'open'] : effects[a.effect]);
  item.querySelector('.replica').parentElement.classList.toggle('gone', a.effect === 'rolled back');
  set('.sent', `${a.method} ${a.path}\nIdempotency-Key: ${a.key}\n\n${a.body}`);
  set('.received', received(a));
  item.querySelector('summary').setAttribute('aria-label', `Request and response of attempt ${a.number} of payment ${a.payment}`);
  for (const name of ['sent', 'received']) {
    item.querySelector(`.${name}`).setAttribute('aria-label', `What attempt ${a.number} of payment ${a.payment} ${name}`);
    item.querySelector(`.${name}`).setAttribute('role', 'group');
  }
  return item;
}

function mark(link, [look, label]) {
  if (look) {
    link.classList.add(look);
  }
  link.querySelector('.label').textContent = label;
}

function received(a) {
  if (a.pending || !a.status) {
    return a.response || '…';
  }
  const headers = [`${a.status}`];
  if (a.result) {
    headers.push(`Idempotency-Result: ${a.result}`);
  }
  if (a.replayed) {
    headers.push('Idempotent-Replayed: true');
  }
  return `${headers.join('\n')}\n\n${a.response}`;
}

// An attempt that has ended moves below what made it end so. The verdict on a payment
// stays below its attempts.
function add(item) {
  const old = timeline.querySelector(item.dataset.attempt ? `[data-attempt="${item.dataset.attempt}"]` : `[data-verdict="${item.dataset.verdict}"]`);
  if (old && onlyAttemptsFollow(old)) {
    old.replaceWith(item);
  } else {
    old?.remove();
    timeline.append(item);
  }
  const verdict = timeline.querySelector(`[data-verdict="${item.dataset.payment}"]`);
  if (verdict) {
    timeline.append(verdict);
  }
  while (timeline.children.length > shown) {
    timeline.firstElementChild.remove();
  }
  document.querySelector('.empty').hidden = true;
  drawBars();
  reveal(timeline.lastElementChild);
}

function onlyAttemptsFollow(item) {
  const next = item.nextElementSibling;
  return !next || (next.matches('.attempt') && onlyAttemptsFollow(next));
}

function verdictItem(e) {
  const item = line(e.right ? 'verdict right' : 'verdict', e.text);
  item.dataset.verdict = e.payment;
  return item;
}

// The attempts of a payment share an axis, unless a pause separates them.
const pause = 1000;

// Draws the bar of each attempt: when it began and ended on its axis.
function drawBars() {
  const attempts = [...timeline.querySelectorAll('.attempt')].sort((a, b) => a.dataset.began - b.dataset.began);
  let group = [], from = 0, to = -Infinity;
  const draw = () => group.forEach(item => {
    const scale = 100 / Math.max(to - from, 1);
    const left = (item.dataset.began - from) * scale;
    Object.assign(item.querySelector('.bar').style, {
      marginLeft: `${left}%`, width: `${((item.dataset.ended || to) - item.dataset.began) * scale}%`,
    });
  });
  for (const item of attempts) {
    const began = Number(item.dataset.began), ended = Number(item.dataset.ended) || began;
    if (began > to + pause || item.dataset.payment !== group[0].dataset.payment) {
      draw();
      [group, from, to] = [[], began, began];
    }
    group.push(item);
    to = Math.max(to, ended);
  }
  draw();
}

// Scrolls the time line, where it scrolls by itself, and else the page.
function reveal(item) {
  const box = byId('timeline');
  const behavior = calm.matches ? 'auto' : 'smooth';
  if (getComputedStyle(box).overflowY === 'auto') {
    box.scrollTo({top: box.scrollHeight, behavior});
  } else {
    item.scrollIntoView({block: 'nearest', behavior});
  }
}

// --- beside the time line ---

let readAt = 0; // the latest state; presses end in any order

function showState(s) {
  if (s.read_at < readAt || s.guarded !== (guard() === 'on')) {
    return;
  }
  readAt = s.read_at;
  const text = (id, value) => { byId(id).textContent = value; };
  const {times, from, to} = s.moved;
  text('balance', s.balance);
  text('payment', s.payment);
  text('amount', s.amount);
  text('key', s.key);
  text('paid', times > 0 ? 'paid' : 'not paid');
  byId('paid').className = `badge ${times > 0 ? 'paid' : 'unpaid'}`;
  text('moved', times > 0
    ? `${['', 'Moved once', 'Moved twice'][times] ?? `Moved ${times} times`}: ${from} → ${to}`
    : `Payment ${s.payment} is not paid yet.`);
  byId('moved').className = `moved ${['', 'once'][times] ?? 'often'}`;
  text('record', recordText(s));
  showLedger(s.ledger ?? []);
  showReplicas(s.replicas);
}

function recordText(s) {
  if (!s.record) {
    return s.guarded ? 'none yet' : 'none: no guard';
  }
  const when = new Date(s.record.expires_at).toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'short'});
  return `${s.record.status}, ${s.record.expired ? 'expired' : 'expires'} ${when}`;
}

let known = new Set();

function showLedger(entries) {
  const rows = entries.map(e => {
    const row = document.createElement('tr');
    const sign = e.kind === 'credit' ? '+' : '−';
    for (const [value, look] of [
      [e.description, ''],
      [sign + e.amount, 'number'], [e.balance_after, 'number'],
    ]) {
      const cell = document.createElement('td');
      cell.className = look;
      cell.textContent = value;
      row.append(cell);
    }
    row.classList.toggle('new', known.size > 0 && !known.has(e.id));
    return row;
  });
  known = new Set(entries.map(e => e.id));
  byId('ledger').replaceChildren(...rows);
}

function showReplicas(replicas) {
  byId('replicas').replaceChildren(...replicas.map(r => {
    const entry = document.createElement('div');
    const name = document.createElement('dt');
    const process = document.createElement('dd');
    name.textContent = `Replica ${r.name}`;
    process.textContent = r.pid ? `process ${r.pid}` : 'not running';
    entry.append(name, process);
    return entry;
  }));
}

// --- running a scenario ---

const show = {
  note: e => add(line('note', e.text)),
  fault: e => add(line('fault', e.text)),
  attempt: e => add(attemptItem(e.attempt)),
  verdict: e => add(verdictItem(e)),
  error: e => { add(line('failure', e.text)); setStatus('Something failed: see the time line.', true); },
  state: e => showState(e.state),
};

function setStatus(text, failed = false) {
  byId('status').textContent = text;
  byId('status').classList.toggle('failed', failed);
}

// Pay can be pressed at any moment: that is the accident that it is about.
function canPress(scenario) {
  return running === '' || scenario === 'pay';
}

function guard() {
  return document.querySelector('[name=guard]:checked').value;
}

// A button that is disabled would lose the focus of the keyboard.
function setRunning(scenario) {
  running = scenario;
  document.body.dataset.running = scenario !== '';
  for (const button of buttons) {
    button.setAttribute('aria-disabled', !canPress(button.dataset.scenario));
  }
}

async function run(scenario, label) {
  presses++;
  setRunning(running && scenario === 'pay' ? running : scenario);
  setStatus(label);
  try {
    const response = await fetch(`/play/${scenario}?guard=${guard()}`, {method: 'POST'});
    if (!response.ok) {
      throw new Error(await response.text());
    }
    await readLines(response, entry => show[entry.kind](entry));
  } catch (error) {
    setStatus(`orders-dev does not answer: ${error.message}`, true);
  }
  presses--;
  if (presses > 0) {
    return;
  }
  if (!byId('status').classList.contains('failed')) {
    setStatus('Ready');
  }
  setRunning('');
}

// Calls visit for each line of a response as it arrives.
async function readLines(response, visit) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) {
      return;
    }
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    lines.forEach(text => visit(JSON.parse(text)));
  }
}

for (const button of buttons) {
  button.addEventListener('click', () => {
    if (canPress(button.dataset.scenario)) {
      run(button.dataset.scenario, `Running: ${button.textContent}…`);
    }
  });
}

for (const choice of document.querySelectorAll('[name=guard]')) {
  choice.addEventListener('change', () => {
    document.body.dataset.guard = guard();
    known = new Set();
    run('open', 'Reading the balance…');
  });
}
document.body.dataset.guard = guard(); // a reload may keep the choice

run('open', 'Starting two replicas…');
