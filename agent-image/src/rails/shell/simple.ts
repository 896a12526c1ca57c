import { child, joinTouching, type Node } from '../syntax/node.ts';
import { prefixValue } from './assign.ts';
import { applyBuiltin } from './builtins.ts';
import { concat, dynamic, fixed, type Command, type Value } from './command.ts';
import { output } from './fold.ts';
import { hasGlob, hasHole } from './marks.ts';
import { matchingNames } from './names.ts';
import { evaluateRedirects, isRedirect, write } from './redirects.ts';
import { mayStep, problem, type Call, type Frame, type Run, type Site } from './run.ts';
import { unwrap } from './unwrap.ts';
import { visitSubstitutions } from './words.ts';

const maxCalls = 64;
/** In the place of a name they mean that the grammar lost its way. */
const reserved = /^(?:[{}!]|then|do|done|fi|elif|else|esac|if|while|until|for|case|function|in)$|\n/;

/** Walks a `command` node: each combination of what its words may become is a call. */
export function callsOf(node: Node, behind: readonly Node[], site: Site, stdin: Value | null, run: Run): Value {
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
  let calls: (readonly Value[])[] = [[]];
  for (const one of words) {
    const alternatives = run.word(one, site);
    calls = calls.flatMap((before) => alternatives.map((fields) => [...before, ...fields]));
    if (calls.length > maxCalls) {
      problem(run, 'limit', 'the words of a command may become too many things', site.span);
      calls = calls.slice(0, maxCalls);
    }
  }
  const opened = evaluateRedirects([...node.children.filter(isRedirect), ...behind], run, site);
  const input = opened.stdin ?? stdin;
  const hidden = name !== null && isHidden(name.text);
  const outputs = calls.map((argv) => run.call({ argv, env, redirects: opened.redirects, stdin: input, hidden }, site));
  const first = outputs[0] ?? fixed('');
  return outputs.every((one) => one.text === first.text) ? first : dynamic(outputs.flatMap((one) => one.from));
}

/** Quoting and escapes in the middle of a name have one use: that a reader does not see it. */
function isHidden(text: string): boolean {
  return /\$'[^']*\\|[A-Za-z0-9](?:''|""|\\[A-Za-z0-9])|(?:''|"")[A-Za-z0-9]|\$\{?IFS|[A-Za-z]["'][A-Za-z]["']|["'][A-Za-z]["'][A-Za-z]/.test(
    text,
  );
}

/** Walks one call: records it, and walks what it runs in turn. */
export function call(one: Call, site: Site, run: Run): Value {
  if (!mayStep(run, site.span)) return dynamic();
  const written = one.argv[0]?.text ?? '';
  const base = written.slice(written.lastIndexOf('/') + 1);
  const names = hasGlob(base) ? [base, ...matchingNames(base)] : [base];
  const outputs = names.map((name) => callNamed(name, one, site, run));
  const first = outputs.at(-1) ?? fixed('');
  return first;
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
    if (inner.cwd !== undefined) scope.cwd = inner.cwd;
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
  const source = body.source.frame as Frame;
  const via = [...site.frame.via, `${command.name}()`];
  const frame = { ...source, within: site.span, depth: site.frame.depth + 1, via, active: [...(site.frame.active ?? []), body] };
  const output = run.node(body, { scope, frame, span: site.span }, command.stdin);
  const { positional } = site.scope;
  site.scope.merge(scope);
  site.scope.positional = positional;
  return output;
}
