import type { Grammars } from '../syntax/node.ts';
import type { Act } from '../verdict/types.ts';
import { code, shellText } from './fold.ts';
import { fixed, type Command } from './command.ts';
import { withoutMarks } from './marks.ts';
import { prepare } from './prepare.ts';
import { freshLimits, Scope, type Frame, type Problem, type Run, type Site } from './run.ts';
import { call, statement } from './statements.ts';
import { word } from './words.ts';

/** Everything that an act runs, as far as its text shows it. */
export interface Analysis {
  readonly commands: readonly Command[];
  readonly problems: readonly Problem[];
}

export type CommandAct = Extract<Act, { tool: 'Shell' | 'ExecCode' }>;

export interface Place {
  readonly grammars: Grammars;
  readonly home: string;
  readonly cwd: string;
}

/**
 * Walks an act. Variables that nothing sets are walked twice: as empty, which they are at run time
 * because nothing is inherited, and as unknown, in case the image sets them.
 */
export function analyse(act: CommandAct, place: Place): Analysis {
  const first = walk(act, place, 'hole');
  const second = first.sawUnset ? walk(act, place, 'empty') : null;
  const commands = [...first.commands, ...(second?.commands ?? [])];
  const seen = new Set<string>();
  const distinct = commands.filter((command) => {
    const parts = [
      command.name,
      ...command.argv.map((value) => value.text),
      ...command.redirects.map((one) => one.operator + one.target.text),
    ];
    const key = JSON.stringify([parts, command.via, command.cwd, command.span, command.code.length, command.stdin?.text]);
    return !seen.has(key) && seen.add(key);
  });
  return { commands: distinct, problems: [...first.problems, ...(second?.problems ?? [])] };
}

/** Walks a script that is written, not run. @param file its name; absent: it was put together out of one */
export function analyseScript(language: 'shell' | 'python' | 'javascript', content: string, place: Place, file?: string): Analysis {
  const run = newRun(place, 'hole');
  const span = { start: 0, end: content.length };
  const value = fixed(withoutMarks(content));
  run.code({ language, value, source: 'elsewhere', ...(file !== undefined && { file }) }, { ...siteOf('', place), span }, null);
  return run;
}

function walk(act: CommandAct, place: Place, unset: Run['unset']): Run {
  const run = newRun(place, unset);
  const text = withoutMarks(act.tool === 'Shell' ? act.command : act.argv.join(' '));
  const site = siteOf(text, place);
  if (act.tool === 'ExecCode') run.call({ argv: act.argv.map((one) => fixed(withoutMarks(one))) }, site);
  else run.text(fixed(text), site, act.stdin === undefined ? null : fixed(withoutMarks(act.stdin)));
  return run;
}

function siteOf(text: string, place: Place): Site {
  const scope = new Scope({ cwd: place.cwd });
  const base = { HOME: place.home, PATH: '/usr/local/bin:/usr/bin:/bin', SHELL: '/bin/sh', TMPDIR: '/tmp', IFS: ' \t\n', LANG: 'C.UTF-8' };
  for (const [name, value] of Object.entries(base)) scope.set(name, [[fixed(withoutMarks(value))]]);
  const frame: Frame = { prepared: prepare(''), within: null, program: null, at: null, depth: 0, via: [] };
  return { scope, frame, span: { start: 0, end: text.length } };
}

function newRun(place: Place, unset: Run['unset']): Run {
  const run: Run = {
    grammars: place.grammars,
    home: place.home,
    unset,
    commands: [],
    problems: [],
    files: new Map(),
    limits: freshLimits(),
    sawUnset: false,
    node: (node, site, stdin) => statement(node, site, stdin, run),
    text: (value, site, stdin) => shellText(value, site, stdin, run),
    call: (one, site) => call(one, site, run),
    code: (one, site, stdin) => code(one, site, stdin, run),
    word: (node, site) => word(node, run, site),
  };
  return run;
}
