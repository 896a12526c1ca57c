import { child, joinTouching, named, walk, type Node } from '../syntax/node.ts';
import { assign } from './assign.ts';
import { concat, dynamic, fixed, type Value } from './command.ts';
import { evaluateRedirects, isRedirect, write } from './redirects.ts';
import { mayStep, problem, spanOf, type Run, type Site } from './run.ts';
import { callsOf } from './simple.ts';
import { visitSubstitutions } from './words.ts';

/** How often a loop body that changes variables is walked. */
const loopRounds = 2;

/** Walks a statement of any kind with the redirects that stand behind it; the answer is what it prints. */
export function statement(node: Node, site: Site, stdin: Value | null, run: Run, redirects: readonly Node[] = []): Value {
  const span = spanOf(node, site.frame);
  if (!mayStep(run, span)) return dynamic();
  const here = { ...site, span };
  if (node.type === 'redirected_statement') {
    const mine = node.children.filter(isRedirect);
    const body = child(node, 'body');
    if (body !== null) return statement(body, here, stdin, run, [...mine, ...redirects]);
    return around(here, run, stdin, [...mine, ...redirects], () => fixed(''));
  }
  if (node.type === 'command') return callsOf(node, redirects, here, stdin, run);
  const last = named(node).at(-1);
  // Redirects behind a list or pipeline belong to its last part.
  if (redirects.length > 0 && last !== undefined && ['list', 'pipeline', 'negated_command'].includes(node.type)) {
    return node.type === 'pipeline'
      ? pipeline(node, here, stdin, run, redirects)
      : concat([fixed(''), ...inOrder(named(node).slice(0, -1), here, stdin, run), statement(last, here, stdin, run, redirects)]);
  }
  return around(here, run, stdin, redirects, (input) => (kinds[node.type] ?? other)(node, here, input, run));
}

function around(site: Site, run: Run, stdin: Value | null, redirects: readonly Node[], body: (stdin: Value | null) => Value): Value {
  if (redirects.length === 0) return body(stdin);
  const opened = evaluateRedirects(redirects, run, site);
  const output = body(opened.stdin ?? stdin);
  run.call({ argv: [], redirects: opened.redirects }, site);
  return write(opened.redirects, output, run, site);
}

type Kind = (node: Node, site: Site, stdin: Value | null, run: Run) => Value;

function inOrder(nodes: readonly Node[], site: Site, stdin: Value | null, run: Run): readonly Value[] {
  return nodes.map((one) => statement(one, site, stdin, run));
}

const sequence: Kind = (node, site, stdin, run) => concat([fixed(''), ...inOrder(named(node), site, stdin, run)]);

/** Walks a body that may or may not run. */
function branch(nodes: readonly Node[], site: Site, stdin: Value | null, run: Run): Value {
  const scope = site.scope.copy();
  const output = concat([fixed(''), ...inOrder(nodes, { ...site, scope }, stdin, run)]);
  if (scope.cwd !== site.scope.cwd && nodes.length > 0) site.scope.cwd = scope.cwd;
  site.scope.merge(scope);
  return output.text === '' ? output : dynamic(output.from);
}

function pipeline(node: Node, site: Site, stdin: Value | null, run: Run, redirects: readonly Node[] = []): Value {
  const stages = named(node);
  let input = stdin;
  stages.forEach((stage, i) => {
    const inner = { ...site, scope: site.scope.copy() };
    input = statement(stage, inner, input, run, i === stages.length - 1 ? redirects : []);
  });
  return input ?? fixed('');
}

function conditional(node: Node, site: Site, stdin: Value | null, run: Run): Value {
  const conditions = node.children.filter((one) => one.field === 'condition' && one.named);
  inOrder(conditions, site, stdin, run);
  const rest = named(node).filter((one) => one.field !== 'condition');
  const clauses = rest.filter((one) => one.type === 'elif_clause' || one.type === 'else_clause');
  const outputs = [
    branch(
      rest.filter((one) => !clauses.includes(one)),
      site,
      stdin,
      run,
    ),
  ];
  for (const clause of clauses) outputs.push(branch(named(clause), site, stdin, run));
  return concat(outputs);
}

function loop(body: readonly Node[], site: Site, stdin: Value | null, run: Run): Value {
  const changes = body.some((one) => [...walk(one)].some((below) => below.type === 'variable_assignment'));
  let output = fixed('');
  for (let round = 0; round < (changes ? loopRounds : 1); round += 1) output = branch(body, site, stdin, run);
  return output;
}

function forLoop(node: Node, site: Site, stdin: Value | null, run: Run): Value {
  const name = child(node, 'variable')?.text ?? '_';
  const words = joinTouching(node.children.filter((one) => one.field === 'value' && one.named));
  const fields = words.length > 0 ? words.flatMap((one) => run.word(one, site).flat()) : site.scope.positional;
  site.scope.set(
    name,
    fields.map((value) => [value]),
  );
  const body = child(node, 'body');
  return body === null ? fixed('') : loop([body], site, stdin, run);
}

const kinds: Readonly<Record<string, Kind>> = {
  program: sequence,
  list: sequence,
  compound_statement: sequence,
  do_group: sequence,
  negated_command: sequence,
  pipeline,
  subshell: (node, site, stdin, run) => sequence(node, { ...site, scope: site.scope.copy() }, stdin, run),
  if_statement: conditional,
  while_statement: (node, site, stdin, run) => loop(named(node), site, stdin, run),
  for_statement: forLoop,
  c_style_for_statement: (node, site, stdin, run) => {
    const body = child(node, 'body');
    for (const one of named(node)) if (one !== body) visitSubstitutions(one, run, site);
    return body === null ? fixed('') : loop([body], site, stdin, run);
  },
  case_statement: (node, site, stdin, run) => {
    const value = child(node, 'value');
    if (value !== null) run.word(value, site);
    const items = named(node).filter((one) => one.type === 'case_item');
    return concat([fixed(''), ...items.map((item) => branch(caseBody(item, run, site), site, stdin, run))]);
  },
  function_definition: (node, site) => {
    const [name, body] = [child(node, 'name')?.text ?? '', child(node, 'body')];
    const parts = [...(body === null ? [] : [body]), ...node.children.filter(isRedirect)];
    const whole: Node = { ...node, type: parts.length > 1 ? 'redirected_statement' : 'compound_statement', children: parts };
    site.scope.functions.set(name, { ...whole, source: { frame: site.frame } });
    return fixed('');
  },
  variable_assignment: (node, site, _stdin, run) => assign(node, run, site),
  variable_assignments: (node, site, _stdin, run) => {
    for (const one of named(node)) assign(one, run, site);
    return fixed('');
  },
  declaration_command: declaration,
  unset_command: (node, site) => {
    for (const one of named(node)) site.scope.variables.set(one.text, [[fixed('')]]);
    return fixed('');
  },
  comment: () => fixed(''),
};

function caseBody(item: Node, run: Run, site: Site): readonly Node[] {
  for (const one of item.children) if (one.field === 'value') visitSubstitutions(one, run, site);
  return named(item).filter((one) => one.field !== 'value');
}

function declaration(node: Node, site: Site, stdin: Value | null, run: Run): Value {
  const argv = [fixed(node.children[0]?.text ?? 'declare')];
  for (const one of named(node)) {
    if (one.type === 'variable_assignment') {
      assign(one, run, site);
      const name = child(one, 'name')?.text ?? '';
      const value = site.scope.variables.get(name)?.[0]?.[0];
      argv.push(concat([fixed(`${name}=`), value ?? fixed('')]));
    } else argv.push(...(run.word(one, site)[0] ?? []));
  }
  return run.call({ argv, stdin }, site);
}

function other(node: Node, site: Site, stdin: Value | null, run: Run): Value {
  if (node.type !== 'ERROR') {
    visitSubstitutions(node, run, site);
    return fixed('');
  }
  problem(run, 'syntax', 'a part of the command line is not understood', site.span);
  for (const one of named(node)) statement(one, site, stdin, run);
  return dynamic();
}
