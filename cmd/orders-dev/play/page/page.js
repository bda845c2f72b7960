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
  'committed': a => `Replica ${a.replica} paid the order, stored its response, and answered ${answered(a)}.`,
  'replayed': a => `Nothing ran. Replica ${a.replica} answered ${answered(a)} with the stored response, byte for byte.`,
  'recognised': a => `The stored response is gone, and the unique index beside the payment knows the key. ` +
    `Nothing was paid. Replica ${a.replica} answered ${answered(a)} with the first payment.`,
  'refused': a => `Replica ${a.replica} refused with ${a.status} ${code(a)}. Nothing was written` +
    (code(a) === 'idempotency_key_reused' ? ', and the stored response stays hidden.' : '.'),
  'rolled back': a => `Replica ${a.replica} died before COMMIT. The database rolled everything back, ` +
    'the claim of the key included. The client saw its connection close.',
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
  return [a.status < 300 ? (a.result === 'created' ? 'good' : 'quiet') : 'refused', answered(a)];
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
  item.dataset.attempt = `${a.order}/${a.number}`;
  item.dataset.effect = a.pending ? 'pending' : a.effect;
  item.dataset.result = a.result;
  set('h3', `Attempt ${a.number}`);
  set('.meta', `order ${a.order} · process ${a.pid}` + (a.pending ? '' : ` · ${a.millis} ms`));
  set('.node.replica', `Replica ${a.replica}`);
  set('.told', sentence(a));
  mark(item.querySelector('.link.answer'), answer(a));
  mark(item.querySelector('.link.effect'), a.pending ? ['', 'open'] : effects[a.effect]);
  item.querySelector('.node.replica').classList.toggle('gone', a.effect === 'rolled back');
  set('.sent', `${a.method} ${a.path}\nIdempotency-Key: ${a.key}\n\n${a.body}`);
  set('.received', received(a));
  item.querySelector('summary').setAttribute('aria-label', `Request and response of attempt ${a.number} for order ${a.order}`);
  for (const name of ['sent', 'received']) {
    item.querySelector(`.${name}`).setAttribute('aria-label', `What attempt ${a.number} for order ${a.order} ${name}`);
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

// An attempt that has ended moves to the end, below what made it end so.
function add(item) {
  if (item.dataset.attempt) {
    timeline.querySelector(`[data-attempt="${item.dataset.attempt}"]`)?.remove();
  }
  timeline.append(item);
  while (timeline.children.length > shown) {
    timeline.firstElementChild.remove();
  }
  document.querySelector('.empty').hidden = true;
  reveal(timeline.lastElementChild);
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

function showState(s) {
  const text = (id, value) => { byId(id).textContent = value; };
  text('balance', s.balance);
  text('order', s.order);
  text('total', s.total);
  text('key', s.key);
  text('paid', s.paid ? 'paid' : 'not paid');
  byId('paid').className = `badge ${s.paid ? 'paid' : 'unpaid'}`;
  text('moved', s.paid
    ? `${s.payments === 1 ? 'Moved once' : `${s.payments} payments`} for order ${s.order}: ${s.before} → ${s.balance}`
    : `Order ${s.order} is not paid yet.`);
  byId('moved').classList.toggle('once', s.payments === 1);
  text('record', recordText(s));
  showLedger(s.ledger ?? []);
  showReplicas(s.replicas);
}

function recordText(s) {
  if (!s.record) {
    return s.paid ? 'none' : 'none yet';
  }
  const when = new Date(s.record.expires_at).toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'short'});
  return `${s.record.status}, ${s.record.expired ? 'expired' : 'expires'} ${when}`;
}

let known = new Set();

function showLedger(entries) {
  const rows = entries.map(e => {
    const row = document.createElement('tr');
    const sign = e.kind === 'credit' || e.kind === 'refund' ? '+' : '−';
    for (const [value, look] of [
      [e.order ? `${e.kind}, order ${e.order}` : e.kind, ''],
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
  verdict: e => add(line(e.right ? 'verdict right' : 'verdict', e.text)),
  error: e => { add(line('failure', e.text)); setStatus('Something failed: see the time line.', true); },
  state: e => showState(e.state),
};

function setStatus(text, failed = false) {
  byId('status').textContent = text;
  byId('status').classList.toggle('failed', failed);
}

// Pay can be pressed again while it runs: that is the accident that it is about.
function canPress(scenario) {
  return running === '' || (running === 'pay' && scenario === 'pay');
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
  setRunning(scenario);
  setStatus(label);
  try {
    const response = await fetch(`/play/${scenario}`, {method: 'POST'});
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

run('open', 'Starting two replicas…');
