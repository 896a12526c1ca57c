import { posix } from 'node:path';
import { contentFindings } from './content.ts';
import { newOverrides, type Override } from './overrides/index.ts';
import { tampersBy } from './rail/testTampering.ts';
import { isSecret } from './rail/secrets.ts';
import { rails } from './rail/index.ts';
import { surroundings, type Found, type Rail } from './rail/rail.ts';
import { placeOf } from './places.ts';
import { isReadOnly } from './readOnly.ts';
import { analyse, analyseScript, type Analysis, type CommandAct } from './shell/analyse.ts';
import { fixed, type Command } from './shell/command.ts';
import { printable, withoutMarks } from './shell/marks.ts';
import { unresolved } from './rail/unresolved.ts';
import { structureOf, structureOfFile } from './structure.ts';
import { languageOf } from './shell/unwrap.ts';
import type { Grammars } from './syntax/grammars.ts';
import type { Act, Finding, Policy, Risk, Span, Verdict } from './types.ts';
import { verdictOf } from './verdict.ts';
import { vouchedCommands, vouchedFile } from './vouch.ts';

export interface RailsOptions {
  readonly grammars: Grammars;
  /** Home folder of the sandbox's user. Default `/root`. */
  readonly home?: string;
}

export interface Rails {
  /** Decides about one act from its text alone: the same act and policy always get the same verdict. */
  judge(act: Act, policy: Policy): Verdict;
  /** What a change of a source file adds that decides by itself how assertions about it end. */
  judgeChange(change: SourceChange): readonly Finding[];
}

/** A source file before and after a change. */
export interface SourceChange {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  /** Null for a new file. */
  readonly before: string | null;
  readonly after: string;
}

const maxCommand = 65_536;

/** Gate 1: deterministic rules over what an act would run and write. */
export function createRails({ grammars, home = '/root' }: RailsOptions): Rails {
  return {
    judge: (act, policy) => {
      const refused = checkPolicy(act, policy);
      if (refused !== null) return verdictOf([refused], ['Unknown'], policy.profile, { simpleCommands: [], structure: {}, vouched: false });
      if (act.tool === 'FileRead' || act.tool === 'FileWrite') return judgeFile(act, policy, grammars, home);
      return judgeCommand(act, policy, grammars, home);
    },
    judgeChange: (change) => newOverrides(change, grammars).map((one) => overrideFinding(one, change)),
  };
}

/** A person can tell whether the goal asks for it; the profile says what happens where nobody is asked. */
function overrideFinding({ where, what }: Override, { path }: SourceChange): Finding {
  const reason = `${path}: ${where} ${what}`;
  const cure = 'Return plain values; where a class has to compare, compare the state of both objects (docs/reference/gates.md).';
  return { rail: 'assertion-override', severity: 'Unknown', span: { start: 0, end: path.length }, reason, cure };
}

/** What needs no look inside: the tool, and the size of the text. */
function checkPolicy(act: Act, policy: Policy): Finding | null {
  const text = act.tool === 'Shell' ? act.command : act.tool === 'ExecCode' ? act.argv.join(' ') : act.path;
  const span = { start: 0, end: text.length };
  const finding = (rail: string, severity: Finding['severity'], reason: string, cure: string): Finding => ({
    rail,
    severity,
    span,
    reason,
    cure,
  });
  if (policy.allowTools?.includes(act.tool) === false) {
    return finding('tool', 'Critical', `the task may not use ${act.tool}`, `Use one of: ${policy.allowTools.join(', ')}.`);
  }
  if (text.length > maxCommand)
    return finding('unresolved', 'Unknown', 'the command is too long to judge', 'Write a script into the workspace and run that.');
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/.test(text))
    return finding('unresolved', 'Unknown', 'there are control characters in the text', 'Leave them out.');
  if (act.tool === 'ExecCode' && (act.argv[0] ?? '') === '')
    return finding('unresolved', 'Unknown', 'no program is named', 'Put the program first.');
  return null;
}

function judgeCommand(act: CommandAct, policy: Policy, grammars: Grammars, home: string): Verdict {
  const cwd = withoutMarks(act.cwd ?? policy.roots[0] ?? '/');
  const analysis = analyse(act, { grammars, home, cwd: posix.normalize(cwd).replace(/(.)\/$/, '$1') });
  return conclude(analysis, policy, home);
}

function conclude(analysis: Analysis, policy: Policy, home: string): Verdict {
  const around = surroundings(policy, { roots: policy.roots, home });
  const findings = new Map<string, Finding>();
  const risksFound: Risk[] = [];
  const add = (rail: Rail, found: Found, span: Span): void => {
    const finding = { rail: rail.id, severity: found.severity, span, reason: found.reason, cure: found.cure ?? rail.cure };
    findings.set(`${rail.id} ${found.severity} ${span.start} ${found.reason}`, finding);
    risksFound.push(found.severity === 'Notice' ? 'Reversible' : riskOf(found, rail));
  };
  for (const command of analysis.commands) {
    risksFound.push(isReadOnly(command) ? 'ReadOnly' : 'Reversible');
    for (const rail of rails) for (const found of rail.check(command, around)) add(rail, found, command.span);
  }
  for (const one of analysis.problems) add(unresolved, { severity: 'Unknown', reason: one.what }, one.span);
  const all = [...findings.values()];
  const vouched = analysis.problems.length === 0 && vouchedCommands(analysis.commands, all);
  const structure = structureOf(analysis.commands, all, around.places);
  return verdictOf(all, risksFound, policy.profile, { simpleCommands: normal(analysis.commands), structure, vouched });
}

function riskOf(found: Found, rail: Rail): Risk {
  if (found.severity === 'Unknown') return 'Unknown';
  return found.severity === 'Reversible' || found.severity === 'Suspicious'
    ? rail.risk === 'Destructive'
      ? 'Reversible'
      : rail.risk
    : rail.risk;
}

function normal(commands: readonly Command[]): Verdict['simpleCommands'] {
  return commands
    .filter((command) => command.argv.length > 0)
    .map(({ argv, via, span }) => ({ argv: argv.map((value) => printable(value.text)), via, span }));
}

type FileAct = Extract<Act, { tool: 'FileRead' | 'FileWrite' }>;

/** Files are judged as the command that would do the same, and scripts by what they would run. */
function judgeFile(act: FileAct, policy: Policy, grammars: Grammars, home: string): Verdict {
  const path = withoutMarks(act.path);
  const span = { start: 0, end: act.path.length };
  const content = act.tool === 'FileWrite' ? (act.content ?? '') : '';
  const argv = [...(act.tool === 'FileWrite' ? ['tee'] : ['cat']), path].map(fixed);
  const base = { env: new Map(), redirects: [], cwd: policy.roots[0] ?? '/', via: [], span, hidden: false, recursion: null, code: [] };
  const commands: Command[] = [{ ...base, name: (argv[0] as { text: string }).text, argv, stdin: fixed(withoutMarks(content)) }];
  if (act.tool === 'FileWrite' && act.mode !== undefined)
    commands.push({ ...base, name: 'chmod', argv: ['chmod', act.mode, path].map(fixed), stdin: null });
  const verdict = conclude({ commands, problems: [] }, policy, home);
  const more = [...fileFindings(act, path, content, policy, home), ...scriptFindings(path, content, policy, grammars, home)];
  const findings = [...verdict.findings, ...more.map((one) => ({ ...one, span }))];
  const root = policy.roots[0] ?? '/';
  const vouched = path.startsWith(`${root}/`) && vouchedFile(path.slice(root.length + 1), content, findings);
  const risk: Risk = act.tool === 'FileRead' ? 'ReadOnly' : 'Reversible';
  return verdictOf(findings, [verdict.risk, risk], policy.profile, {
    simpleCommands: [],
    structure: structureOfFile(path, content, findings, { roots: policy.roots, home }),
    vouched: act.tool === 'FileRead' ? findings.length === 0 : vouched,
  });
}

function fileFindings(act: FileAct, path: string, content: string, policy: Policy, home: string): readonly Omit<Finding, 'span'>[] {
  const out: Omit<Finding, 'span'>[] = [];
  const place = placeOf(path, '/', { roots: policy.roots, home });
  if (!path.startsWith('/') || (act.tool === 'FileRead' && !['inside', 'scratch'].includes(place))) {
    out.push({
      rail: 'path-policy',
      severity: 'High',
      reason: `${path} is outside the roots`,
      cure: 'Name an absolute path below the workspace.',
    });
  }
  if (act.tool === 'FileWrite' && content.length > (policy.maxWriteLength ?? 1_048_576)) {
    out.push({ rail: 'path-policy', severity: 'High', reason: 'the content is larger than the policy allows', cure: 'Split it.' });
  }
  if (act.tool === 'FileWrite' && isSecret(path))
    out.push({ rail: 'secrets', severity: 'Suspicious', reason: `${path} is a place for secrets`, cure: 'Write an example file.' });
  if (act.tool === 'FileWrite' && tampersBy(path, content)) {
    out.push({
      rail: 'test-tampering',
      severity: 'Suspicious',
      reason: `the content switches off tests in ${path}`,
      cure: 'Repair the code under test.',
    });
  }
  if (act.tool === 'FileWrite') out.push(...contentFindings(path, content));
  return out;
}

/** A script that is only written: what would be refused when it runs is looked at now. */
function scriptFindings(path: string, content: string, policy: Policy, grammars: Grammars, home: string): readonly Omit<Finding, 'span'>[] {
  if (!/\.(?:sh|bash|zsh|py)$/.test(path) && !/^#!.*\b(?:sh|bash|python[\d.]*)\b/.test(content)) return [];
  const language = languageOf(path, content);
  if (language === 'text' || content.length > maxCommand) return [];
  const analysis = analyseScript(language, content, { grammars, home, cwd: posix.dirname(path) });
  const { findings } = conclude(analysis, policy, home);
  return findings
    .filter((one) => one.severity === 'Critical')
    .map((one) => ({ ...one, severity: 'Suspicious', reason: `when the script runs: ${one.reason}` }));
}
