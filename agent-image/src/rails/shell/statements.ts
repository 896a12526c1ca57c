import { child, joinTouching, type Node, named, walk } from '../syntax/node.ts';
import { prefixValue, assign, applyBuiltin } from './builtins.ts';
import { byName, concat, dynamic, fixed, weightOf, type Command, type Value } from './command.ts';
import { output } from './fold.ts';
import { hasGlob, hasHole } from './marks.ts';
import { matchingNames } from './expansions.ts';
import { evaluateRedirects, isRedirect, write } from './redirects.ts';
import { maySpend, mayStep, problem, type Call, type Run, type Site, spanOf } from './run.ts';
import { unwrap } from './unwrap.ts';
import { visitSubstitutions } from './words.ts';

const maxCalls = 64;
/** In the place of a name they mean that the grammar lost its way. */
const reserved = /^(?:[{}!]|then|do|done|fi|elif|else|esac|if|while|until|for|case|function|in)$|\n/;

/** Walks a `command` node: each combination of what its words may become is a call. */
function callsOf(node: Node, behind: readonly Node[], site: Site, stdin: Value | null, run: Run): Value {
  const name = child(node, 'name');
  if (name?.children[0]?.type === 'arithmetic_expansion') {
    visitSubstitutions(name, run, site);
    return fixed('');
  }
  const env = new Map(node.children.filter((one) => one.type === 'variable_assignment').map((one) => prefixValue(one, run, site)));
  const words = joinTouching(node.children.filter((one) => one.field === 'name' || one.field === 'argument'));
  // A value or a target that touches the next word is cut short by the grammar.
  const cut = node.children.some(
    (one, i, all) =>
      (one.type === 'variable_assignment' || isRedirect(one)) && all[i + 1]?.start === one.end && !isRedirect(all[i + 1] as Node),
  );
  if (cut || reserved.test(name?.text ?? '')) problem(run, 'syntax', 'a word is not understood', site.span);
  const calls = argvsOf(words, site, run);
  const opened = evaluateRedirects([...node.children.filter(isRedirect), ...behind], run, site);
  const input = opened.stdin ?? stdin;
  const hidden = name !== null && isHidden(name.text);
  const outputs = calls.map((argv) => run.call({ argv, env, redirects: opened.redirects, stdin: input, hidden }, site));
  const first = outputs[0] ?? fixed('');
  return outputs.every((one) => one.text === first.text) ? first : dynamic(outputs.flatMap((one) => one.from));
}

/** Each combination of what words may become. */
function argvsOf(words: readonly Node[], site: Site, run: Run): readonly (readonly Value[])[] {
  let calls: Value[][] = [[]];
  for (const one of words) {
    const alternatives = run.word(one, site);
    const [only = []] = alternatives;
    const copied = alternatives.length === 1 ? 0 : alternatives.length * calls.flat().length;
    if (!maySpend(run, site, copied + calls.length * alternatives.flat().length)) return [[dynamic()]];
    if (alternatives.length > 1) calls = calls.flatMap((before) => alternatives.map((fields) => [...before, ...fields]));
    else for (const call of calls) for (const field of only) call.push(field);
    if (calls.length > maxCalls) {
      problem(run, 'limit', 'the words of a command may become too many things', site.span);
      calls = calls.slice(0, maxCalls);
    }
  }
  return calls;
}

/** Quoting and escapes in the middle of a name have one use: that a reader does not see it. */
function isHidden(text: string): boolean {
  return /\$'[^']*\\|[A-Za-z0-9](?:''|""|\\[A-Za-z0-9])|(?:''|"")[A-Za-z0-9]|\$\{?IFS|[A-Za-z]["'][A-Za-z]["']|["'][A-Za-z]["'][A-Za-z]/.test(
    text,
  );
}

/** Walks one call: records it, and walks what it runs in turn. */
export function call(one: Call, site: Site, run: Run): Value {
  if (!mayStep(run, site.span) || !maySpend(run, site, workOf(one))) return dynamic();
  const written = one.argv[0]?.text ?? '';
  const base = written.slice(written.lastIndexOf('/') + 1);
  const names = hasGlob(base) ? [base, ...matchingNames(base)] : [base];
  return names.map((name) => callNamed(name, one, site, run)).at(-1) ?? fixed('');
}

/** All of it is looked at by each rail. */
function workOf({ argv, redirects = [], env, stdin }: Call): number {
  return weightOf([...argv, ...redirects.map(({ target }) => target), ...(env?.values() ?? []), ...(stdin == null ? [] : [stdin])]);
}

function callNamed(name: string, one: Call, site: Site, run: Run): Value {
  const { scope, frame, span } = site;
  const body = scope.functions.get(name);
  run.limits.commands -= 1;
  const command: Command = {
    name,
    argv: one.argv,
    env: one.env ?? new Map(),
    redirects: one.redirects ?? [],
    stdin: one.stdin ?? null,
    cwd: scope.cwd,
    via: frame.via,
    span,
    at: frame.at,
    hidden: one.hidden ?? false,
    recursion: body !== undefined && frame.active?.includes(body) === true ? body.text : null,
    code: [],
  };
  run.commands.push(command);
  const inner = runInner(command, site, run);
  applyBuiltin(command, run, site);
  return write(command.redirects, inner ?? output(command, run, site), run, site);
}

/** Functions and wrappers. Null when the command runs nothing else. */
function runInner(command: Command, site: Site, run: Run): Value | null {
  if (site.frame.depth >= run.limits.depth) {
    problem(run, 'limit', 'commands are nested too deeply', site.span);
    return dynamic([command]);
  }
  const outputs: Value[] = [];
  const called = runFunction(command, site, run);
  if (called !== null) outputs.push(called);
  for (const inner of unwrap(command, run, site)) {
    const frame = { ...site.frame, depth: site.frame.depth + 1, via: [...site.frame.via, command.name] };
    const scope = inner.sameShell === true ? site.scope : site.scope.copy();
    if (inner.positional !== undefined) scope.positional = inner.positional;
    if (inner.zero !== undefined) scope.set('0', [[inner.zero]]);
    const there = { scope, frame, span: site.span };
    if ('argv' in inner) {
      if (inner.argv.length > 0)
        outputs.push(run.call({ argv: inner.argv, stdin: inner.stdin ?? command.stdin, env: inner.env ?? command.env }, there));
    } else {
      command.code.push(inner.code);
      outputs.push(run.code(inner.code, there, inner.stdin ?? null));
    }
  }
  if (outputs.length === 0) return null;
  const all = concat(outputs);
  return { text: hasHole(all.text) ? dynamic().text : all.text, from: [...new Set([...all.from, command])] };
}

/** The body of a function with this name; null when there is none, or when it is running already. */
function runFunction(command: Command, site: Site, run: Run): Value | null {
  const body = site.scope.functions.get(command.name);
  if (body === undefined || site.frame.active?.includes(body) === true) return null;
  const scope = site.scope.copy();
  scope.positional = command.argv.slice(1);
  const via = [...site.frame.via, `${command.name}()`];
  const frame = { ...body.source, within: site.span, depth: site.frame.depth + 1, via, active: [...(site.frame.active ?? []), body] };
  const output = run.node(body, { scope, frame, span: site.span }, command.stdin);
  const { positional } = site.scope;
  site.scope.merge(scope);
  site.scope.positional = positional;
  return output;
}

/** Number of times that a loop body that changes variables is walked. */
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
  if (node.type === 'command') return callsOf(node, redirects, placed(here, node), stdin, run);
  const last = named(node).at(-1);
  // Redirects behind a list or pipeline belong to its last part.
  if (redirects.length > 0 && last !== undefined && ['list', 'pipeline', 'negated_command'].includes(node.type)) {
    return node.type === 'pipeline'
      ? pipeline(node, here, stdin, run, redirects)
      : concat([fixed(''), ...inOrder(named(node).slice(0, -1), here, stdin, run), statement(last, here, stdin, run, redirects)]);
  }
  return around(here, run, stdin, redirects, (input) => (kinds[node.type] ?? other)(node, here, input, run));
}

/** Marks the place of a command in a program within the act. */
function placed(site: Site, node: Node): Site {
  const { within, at, program, prepared } = site.frame;
  if (within === null || at !== null || program === null) return site;
  return { ...site, frame: { ...site.frame, at: { ...program, offset: prepared.offsets[node.start] ?? 0 } } };
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
  const bodies = [rest.filter((one) => !clauses.includes(one)), ...clauses.map(named)];
  return concat(bodies.map((body) => branch(body, site, stdin, run)));
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
  ...byName(['program list compound_statement do_group negated_command', sequence]),
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
    site.scope.functions.set(name, { ...whole, source: site.frame });
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
