import { child, joinTouching, named, type Node } from '../syntax/node.ts';
import { concat, dynamic, fixed, isFixed, type Value } from './command.ts';
import { absolute } from './path.ts';
import type { Run, Site } from './run.ts';
import type { Alternatives } from './scope.ts';
import { single } from './words.ts';

/** Variables whose value some program runs as shell code. */
const codeVariables = new Set([
  'PROMPT_COMMAND',
  'GIT_SSH_COMMAND',
  'GIT_SSH',
  'GIT_EDITOR',
  'GIT_SEQUENCE_EDITOR',
  'GIT_EXTERNAL_DIFF',
  'GIT_PAGER',
  'GIT_ASKPASS',
  'GIT_PROXY_COMMAND',
  'SSH_ASKPASS',
  'PAGER',
  'MANPAGER',
  'EDITOR',
  'VISUAL',
  'BROWSER',
  'LESSOPEN',
  'RSYNC_RSH',
  'PERL5DB',
]);

/** Variables that name a file which a shell reads first. */
const fileVariables = new Set(['BASH_ENV', 'ENV']);

/** Walks `name=value`; it prints nothing. */
export function assign(node: Node, run: Run, site: Site): Value {
  const target = child(node, 'name');
  const name = target === null ? '' : (child(target, 'name') ?? target).text;
  const appends = node.children.some((one) => one.type === '+=');
  const before = site.scope.variables.get(name) ?? [[]];
  const value = child(node, 'value');
  let alternatives: Alternatives;
  if (value?.type === 'array') {
    const fields = joinTouching(named(value)).flatMap((one) => run.word(one, site)[0] ?? []);
    alternatives = appends ? before.map((old) => [...old, ...fields]) : [fields];
  } else {
    const values = value === null ? [fixed('')] : single(value, run, site);
    if (target?.type === 'subscript') alternatives = before.flatMap((old) => values.map((one) => [...old, one]));
    else if (appends) alternatives = before.flatMap((old) => values.map((one) => [concat([old[0] ?? fixed(''), one]), ...old.slice(1)]));
    else alternatives = values.map((one) => [one]);
  }
  site.scope.set(name, alternatives);
  for (const fields of alternatives) assigned(name, fields[0] ?? fixed(''), run, site);
  return fixed('');
}

/** The value of `name=value` in front of a command. */
export function prefixValue(node: Node, run: Run, site: Site): readonly [string, Value] {
  const name = child(node, 'name')?.text ?? '';
  const value = child(node, 'value');
  const found = value === null ? fixed('') : value.type === 'array' ? dynamic() : (single(value, run, site)[0] ?? dynamic());
  assigned(name, found, run, site);
  return [name, found];
}

/** Some variables are programs. */
export function assigned(name: string, value: Value, run: Run, site: Site): void {
  if (value.text === '') return;
  if (codeVariables.has(name)) run.code({ language: 'shell', value, source: 'variable' }, { ...site, scope: site.scope.copy() }, null);
  if (fileVariables.has(name) && isFixed(value)) {
    const content = run.files.get(absolute(value.text, site.scope.cwd));
    if (content !== undefined) run.code({ language: 'shell', value: content, source: 'file' }, { ...site, scope: site.scope.copy() }, null);
  }
}
