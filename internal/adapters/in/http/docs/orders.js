'use strict';

// What the reference page adds to Swagger UI: a fresh Idempotency-Key for each press of
// Execute, a switch that sends the same key again, the roles of each operation, and sections
// of its prose that open on demand.

// The plugins of the page.
const pagePlugins = [({React}) => {
  const keys = new Map(); // by path and method: the parameter, the key that was made, and whether it stays

  const entryOf = pathMethod => {
    const id = pathMethod.join(' ');
    if (!keys.has(id)) {
      keys.set(id, {parameter: null, made: '', same: false});
    }
    return keys.get(id);
  };

  // The switch below the field of the key.
  function SameKey({pathMethod}) {
    const entry = entryOf(pathMethod);
    const [same, setSame] = React.useState(entry.same);
    const id = 'same-key-' + pathMethod.join('-').replace(/[^a-z]+/gi, '-');
    const change = event => {
      entry.same = event.target.checked;
      setSame(entry.same);
    };
    const hint = same
      ? 'Execute sends the key above again. Look for Idempotency-Result: reused.'
      : 'Execute makes a fresh key each time, unless you type one: a new key is a new operation.';
    return React.createElement('tr', {className: 'orders-same-key'},
      React.createElement('td', {colSpan: 2},
        React.createElement('label', {htmlFor: id},
          React.createElement('input', {id, type: 'checkbox', checked: same, onChange: change, 'aria-describedby': id + '-hint'}),
          React.createElement('strong', null, ' Same key again. '),
          React.createElement('span', {id: id + '-hint'}, hint))));
  }

  // Keeps the parameter of the key, and shows the switch where requests are tried out.
  const withSwitch = Row => props => {
    const row = React.createElement(Row, props);
    if (props.rawParam.get('name') !== 'Idempotency-Key') {
      return row;
    }
    entryOf(props.pathMethod).parameter = props.rawParam;
    return React.createElement(React.Fragment, null, row,
      props.isExecute && React.createElement(SameKey, {pathMethod: props.pathMethod}));
  };

  // Fills in a key before the form is checked, which is the first thing that Execute does.
  const withKey = (validate, {specActions, specSelectors}) => (pathMethod, ...rest) => {
    const entry = entryOf(pathMethod);
    if (entry.parameter) {
      const value = specSelectors.parameterWithMetaByIdentity(pathMethod, entry.parameter).get('value') ?? '';
      if (value === '' || value === entry.made && !entry.same) {
        entry.made = freshKey();
        specActions.changeParamByIdentity(pathMethod, entry.parameter, entry.made, false);
      }
    }
    return validate(pathMethod, ...rest);
  };

  // 128 random bits. crypto.randomUUID exists only where the page is secure.
  const freshKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)),
    byte => byte.toString(16).padStart(2, '0')).join('');

  // Shows the roles of an operation beside its path.
  const withRoles = (Path, {specSelectors}) => props => {
    const {path, method} = props.operationProps.toJS();
    const roles = specSelectors.specJson().getIn(['paths', path, method, 'x-roles']) ?? [];
    return React.createElement(React.Fragment, null, React.createElement(Path, props),
      React.createElement('span', {className: 'orders-roles', title: 'Roles that may call it'},
        ...roles.map(role => React.createElement('span', null, role))));
  };

  // Folds the sections of a long text below their headings.
  const withSections = Markdown => props => {
    const [intro, ...sections] = (props.source ?? '').split(/^## /m);
    if (sections.length < 2) {
      return React.createElement(Markdown, props);
    }
    return React.createElement('div', null, React.createElement(Markdown, {...props, source: intro}),
      ...sections.map(section => {
        const [title, ...rest] = section.split('\n');
        return React.createElement('details', {className: 'orders-prose'}, React.createElement('summary', null, title),
          React.createElement(Markdown, {...props, source: rest.join('\n')}));
      }));
  };

  return {
    wrapComponents: {parameterRow: withSwitch, OperationSummaryPath: withRoles, Markdown: withSections},
    statePlugins: {spec: {wrapActions: {validateParams: withKey}}},
  };
}];
