
// What orders-dev adds to the reference page: each request gets a new token of a role that
// may send it. The page keeps tokens in memory only.
{
  const choices = [
    ['automatic', 'automatic: a permitted role'],
    ['customer', 'customer (sber-42)'],
    ['seller', 'seller (tea-shop)'],
    ['admin', 'admin'],
    ['system', 'system (billing)'],
    ['own', 'none, or that of Authorize'],
  ];
  let choice = 'automatic';

  const build = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  const used = build('span', {id: 'orders-token-used'});
  used.setAttribute('role', 'status');

  const bar = () => {
    const select = build('select', {id: 'orders-role', ariaLabel: 'Token'},
      ...choices.map(([value, textContent]) => build('option', {value, textContent})));
    select.addEventListener('change', () => { choice = select.value; });
    const section = build('section', {id: 'orders-token'},
      build('label', {htmlFor: 'orders-role', textContent: 'Token'}), select, used,
      build('a', {href: '/play', textContent: 'Playground'}));
    section.setAttribute('aria-label', 'Token of the requests');
    return section;
  };

  const style = `
    #orders-token { position: sticky; top: 0; z-index: 10; display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center;
      box-sizing: border-box; padding: 10px 20px; background: #17212b; color: #fff; font: 14px/1.4 system-ui, sans-serif; }
    #orders-token label { font-weight: 600; }
    #orders-token select { flex: 0 1 auto; min-width: 0; padding: 4px 8px; font: inherit; color: #17212b; background: #fff; border-radius: 4px; }
    #orders-token a { color: #9bd0f5; margin-left: auto; }
    @media (max-width: 760px) {
      #orders-token { padding: 8px 10px; gap: 6px 10px; }
      #orders-token label { display: none; }
      #orders-token span { order: 1; flex-basis: 100%; font-size: 12px; }
      #orders-token span:empty { display: none; }
    }
    #orders-token :focus-visible { outline: 3px solid #9bd0f5; outline-offset: 2px; }`;

  document.addEventListener('DOMContentLoaded', () => {
    document.head.append(build('style', {textContent: style}));
    document.body.prepend(bar());
  });

  // Returns the role for an operation that permits some, or nothing for a public one.
  const roleFor = permitted => permitted && (choice === 'automatic' ? permitted.first() : choice);

  const withToken = (execute, {specSelectors, authActions}) => async request => {
    const role = roleFor(specSelectors.specJson().getIn(['paths', request.path, request.method, 'x-roles']));
    if (role && role !== 'own') {
      const response = await fetch('/docs/token?role=' + role, {method: 'POST'});
      if (response.ok) {
        const {subject, token} = await response.json();
        const schema = specSelectors.securityDefinitions().get('bearer');
        authActions.authorize({bearer: {name: 'bearer', schema, value: token}});
        used.textContent = `The last request had a new token: ${role}, ${subject}.`;
      } else {
        used.textContent = await response.text();
      }
    }
    return execute(request);
  };

  pagePlugins.push(() => ({statePlugins: {spec: {wrapActions: {execute: withToken}}}}));
}
