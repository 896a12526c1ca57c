// agent-image, rails: gate 1, which judges an act by all rails. Imports protocol and tree-sitter, no other folder of the worker.
import {
  type Finding,
  decisions,
  highest,
  risks,
  type Decision,
  type Profile,
  type Risk,
  type Severity,
  type Verdict,
  type Act,
  type Override,
  type Policy,
  type SourceChange,
  type Span,
} from './verdict/types.ts';
import { posix } from 'node:path';
import { shortened } from '../base/text.ts';
import { changesOnlyComments, newOverrides } from './overrides.ts';
import { tampersBy } from './rail/testTampering.ts';
import { clearsImage } from './rail/catastrophicDelete.ts';
import { forgedRecords } from './rail/forgedRecords.ts';
import { isSecret } from './rail/secrets.ts';
import { rails } from './rail/index.ts';
import { surroundings, type Found, type Rail } from './rail/rail.ts';
import { isReadOnly } from './shell/readOnly.ts';
import { analyse, analyseScript, languageOf, type Analysis, type CommandAct } from './shell/index.ts';
import { args, fixed, type Command, type ProgramPlace } from './shell/command.ts';
import { plain, printable, withoutMarks } from './shell/marks.ts';
import { absolute } from './shell/places.ts';
import { writeTargets } from './shell/targets.ts';
import { unresolved } from './rail/unresolved.ts';
import { structureOf, structureOfFile } from './structure.ts';
import type { Grammars } from './syntax/node.ts';
import { allowlistedCommands, allowlistedFile } from './allowlist.ts';
import { buildsImage, contentFindings, embeddedShell } from './content.ts';

/** Decision of each profile about each severity. */
export const decisionTable: Readonly<Record<Severity, Readonly<Record<Profile, Decision>>>> = {
  Notice: { Strict: 'Allow', Default: 'Allow', Permissive: 'Allow', Privileged: 'Allow' },
  Reversible: { Strict: 'NeedsSnapshot', Default: 'NeedsSnapshot', Permissive: 'NeedsSnapshot', Privileged: 'NeedsSnapshot' },
  Suspicious: { Strict: 'NeedsApproval', Default: 'Review', Permissive: 'Review', Privileged: 'NeedsSnapshot' },
  Unknown: { Strict: 'Deny', Default: 'NeedsApproval', Permissive: 'Review', Privileged: 'Review' },
  High: { Strict: 'Deny', Default: 'Deny', Permissive: 'NeedsApproval', Privileged: 'Review' },
  Critical: { Strict: 'Deny', Default: 'Deny', Permissive: 'Deny', Privileged: 'NeedsApproval' },
};

/** One decision from all findings: the strictest. */
function verdictOf(
  findings: readonly Finding[],
  risksFound: readonly Risk[],
  profile: Profile,
  { simpleCommands, structure, allowlisted }: Pick<Verdict, 'simpleCommands' | 'structure' | 'allowlisted'>,
): Verdict {
  const decision = highest(
    decisions,
    findings.map((one) => decisionTable[one.severity][profile]),
  );
  const risk = highest(risks, risksFound);
  return { decision, risk, allowlisted: allowlisted && decision !== 'Deny', findings, simpleCommands, structure };
}

interface Ground extends Required<RailsOptions> {
  readonly policy: Policy;
}

interface RailsOptions {
  readonly grammars: Grammars;
  /** Home folder of the sandbox's user. Default `/root`. */
  readonly home?: string;
}

export interface Rails {
  /** Decides about one act from its text alone: the same act and policy always get the same verdict. */
  judge(act: Act, policy: Policy): Verdict;
  /** Lists what a change of a source file adds that decides by itself how assertions about it end. */
  judgeChange(change: SourceChange): readonly Finding[];
  /** Reports whether it changes comments that no tool obeys, and nothing else. */
  changesOnlyComments(change: SourceChange): boolean;
}

const maxCommand = 65_536;
/** No path is longer. */
const maxPath = 4096;

/** Gate 1: deterministic rules over what an act would run and write. */
export function createRails({ grammars, home = '/root' }: RailsOptions): Rails {
  return {
    judge: (act, policy) => {
      const refused = checkText(act);
      if (refused !== null)
        return verdictOf([refused], ['Unknown'], policy.profile, { simpleCommands: [], structure: {}, allowlisted: false });
      const ground = { policy, grammars, home };
      return act.tool === 'FileWrite' ? judgeFile(act, ground) : judgeCommand(act, ground);
    },
    judgeChange: (change) => newOverrides(change, grammars).map((one) => overrideFinding(one, change)),
    changesOnlyComments: (change) => changesOnlyComments(change, grammars),
  };
}

/** A person can decide whether the goal asks for it; the profile decides what happens where no one is asked. */
function overrideFinding({ where, what }: Override, { path }: SourceChange): Finding {
  const reason = `${path}: ${where} ${what}`;
  const cure = 'Return plain values; where a class has to compare, compare the state of both objects (docs/reference/gates.md).';
  return { rail: 'assertion-override', severity: 'Unknown', span: { start: 0, end: path.length }, reason, cure };
}

/** Finds what needs no look inside: the size of the text, and characters that are in no text. */
function checkText(act: Act): Finding | null {
  const text = act.tool === 'Shell' ? act.command : act.tool === 'ExecCode' ? act.argv.join(' ') : act.path;
  const span = { start: 0, end: text.length };
  const finding = (reason: string, cure: string): Finding => ({ rail: 'unresolved', severity: 'Unknown', span, reason, cure });
  if (act.tool === 'FileWrite' && text.length > maxPath) return finding('the path is too long to judge', 'Give the file a shorter name.');
  if (text.length > maxCommand) return finding('the command is too long to judge', 'Write a script into the workspace and run that.');
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/.test(text)) return finding('there are control characters in the text', 'Leave them out.');
  if (act.tool === 'ExecCode' && (act.argv[0] ?? '') === '') return finding('no program is named', 'Put the program first.');
  return null;
}

function judgeCommand(act: CommandAct, ground: Ground): Verdict {
  const cwd = withoutMarks(act.cwd ?? ground.policy.roots[0] ?? '/');
  const analysis = analyse(act, { ...ground, cwd: posix.normalize(cwd).replace(/(.)\/$/, '$1') });
  return conclude(analysis, ground, act.tool === 'Shell' ? act.command : act.argv.join(' '));
}

/** Lists findings of the file rules in what a command writes; where its input is not known, the text of the whole act stands for it. */
function writtenFindings(command: Command, text: string): readonly Omit<Finding, 'span'>[] {
  if (removing.test(command.name)) return [];
  const content = command.stdin === null || command.stdin.text.length < 3 ? text : plain(command.stdin.text);
  return writeTargets(command).flatMap((target) => contentFindings(absolute(plain(target), command.cwd), content));
}

/** Commands that write a name, and no text of their own. */
const removing = /^(?:rm|rmdir|mkdir|unlink|chmod|chown|chgrp|touch|ln|truncate|git|tar|unzip)$/;

const cures: Readonly<Record<Analysis['problems'][number]['kind'], string>> = {
  syntax: 'Correct the syntax, or put the program into a file of the workspace and run that in a call of its own.',
  limit: 'Split it into several calls.',
  dynamic: 'Write out what runs, in place of text that is made at run time.',
};

/** @param text of an act that runs; null: of a script that is only written */
function conclude(analysis: Analysis, { policy, home }: Ground, text: string | null): Verdict {
  const around = surroundings(policy, { roots: policy.roots, home });
  const findings = new Map<string, Finding>();
  const risksFound: Risk[] = [];
  const add = (rail: Rail, found: Found, span: Span, at: ProgramPlace | null): void => {
    const finding = { rail: rail.id, severity: found.severity, span, reason: found.reason, cure: found.cure ?? rail.cure };
    const key = `${rail.id} ${found.severity} ${span.start} ${found.reason}`;
    if (!findings.has(key)) findings.set(key, { ...finding, ...lineAt(at) });
    risksFound.push(found.severity === 'Notice' ? 'Reversible' : riskOf(found, rail));
  };
  for (const command of analysis.commands) {
    risksFound.push(isReadOnly(command) ? 'ReadOnly' : 'Reversible');
    const by = command.name === 'tee' ? command.via.at(-1) : undefined;
    for (const rail of rails) for (const found of rail.check(command, around)) add(rail, writtenBy(by, found), command.span, command.at);
    if (text === null) continue;
    for (const one of writtenFindings(command, text)) {
      findings.set(`${one.rail} ${one.reason}`, { ...one, span: command.span });
      risksFound.push('Unknown');
    }
  }
  const unseen = committedUnseen(analysis.commands);
  if (unseen !== null)
    add(forgedRecords, { severity: 'Unknown', reason: 'what came out is taken for what is right, and committed unseen' }, unseen, null);
  for (const { kind, what, span, at } of analysis.problems)
    add(unresolved, { severity: 'Unknown', reason: what, cure: cures[kind] }, span, at);
  const all = [...findings.values()];
  const allowlisted = analysis.problems.length === 0 && allowlistedCommands(analysis.commands, all, policy.isNew);
  const structure = structureOf(analysis.commands, all, around.places);
  const simpleCommands = analysis.commands
    .filter(({ argv }) => argv.length > 0)
    .map(({ argv, via, span }) => ({ argv: argv.map(({ text: word }) => printable(word)), via, span }));
  return verdictOf(all, risksFound, policy.profile, { simpleCommands, structure, allowlisted });
}

const maxLine = 120;

/** The line of a place in a program; none where the program is the one line that the span shows. */
function lineAt(at: ProgramPlace | null): Pick<Finding, 'line'> {
  if (at === null || (at.file === undefined && !at.text.trim().includes('\n'))) return {};
  const before = at.text.slice(0, at.offset).split('\n');
  const text = shortened(printable(at.text.split('\n')[before.length - 1] ?? '').trim(), maxLine);
  return { line: { number: before.length, ...(at.file !== undefined && { file: at.file }), text } };
}

/** Names what writes: a program's own writes and edits are judged as `tee`, which stands in none of them. */
const writtenBy = <F extends { readonly reason: string }>(by: string | undefined, found: F): F =>
  by === undefined ? found : { ...found, reason: found.reason.replace(/^tee /, `${by} `) };

/** Finds the commit of expectations that are written anew from the output and committed unread; null: none. */
function committedUnseen(commands: readonly Command[]): Span | null {
  const words = commands.map((command) => [command.name, ...args(command)].join(' '));
  const updated = words.findIndex(
    (line) =>
      /\b(?:vitest|jest|ava|playwright|pytest|insta|go|tap)\b/.test(line) &&
      /\s(?:-u|--update(?:-\w+)?|--snapshot-update|--force-regen|-update|--accept|--bless)(?:[\s=]|$)/.test(line),
  );
  const committed = words.findIndex((line, at) => at > updated && /^git (?:\S+ )*?commit\b/.test(line));
  if (updated === -1 || committed === -1) return null;
  const looked = words.slice(updated, committed).some((line) => /^(?:git (?:\S+ )*?(?:diff|show|status)|diff|delta)\b/.test(line));
  return looked ? null : (commands[committed]?.span ?? null);
}

function riskOf({ severity }: Found, { risk }: Rail): Risk {
  if (severity === 'Unknown') return 'Unknown';
  return risk === 'Destructive' && (severity === 'Reversible' || severity === 'Suspicious') ? 'Reversible' : risk;
}

type FileAct = Extract<Act, { tool: 'FileWrite' }>;

/** Largest content of one file, in UTF-16 units. */
const maxContent = 1_048_576;

/** Files are judged as the command that would do the same, and scripts by what they would run. */
function judgeFile(act: FileAct, ground: Ground): Verdict {
  const { policy, home } = ground;
  const path = withoutMarks(act.path);
  const span = { start: 0, end: act.path.length };
  const { content = '' } = act;
  const root = policy.roots[0] ?? '/';
  const base = { env: new Map(), redirects: [], cwd: root, via: [], span, at: null, hidden: false, recursion: null, code: [] };
  const write: Command = { ...base, name: 'tee', argv: ['tee', path].map(fixed), stdin: fixed(withoutMarks(content)) };
  const verdict = conclude({ commands: [write], problems: [] }, ground, null);
  const more = [...fileFindings(path, content), ...scriptFindings(path, content, ground), ...embeddedFindings(path, content, ground)];
  const findings = [...verdict.findings.map((one) => writtenBy('the edit', one)), ...more.map((one) => ({ ...one, span }))];
  return verdictOf(findings, [verdict.risk, 'Reversible'], policy.profile, {
    simpleCommands: [],
    structure: structureOfFile(path, content, findings, { roots: policy.roots, home }),
    allowlisted: path.startsWith(`${root}/`) && allowlistedFile(path.slice(root.length + 1), content, findings),
  });
}

function fileFindings(path: string, content: string): readonly Omit<Finding, 'span'>[] {
  const found = (rail: string, severity: Severity, reason: string, cure: string): Omit<Finding, 'span'> => ({
    rail,
    severity,
    reason,
    cure,
  });
  const out = [
    !path.startsWith('/') && found('path-policy', 'High', `${path} is outside the roots`, 'Name an absolute path below the workspace.'),
    content.length > maxContent && found('path-policy', 'High', 'the content is larger than the policy allows', 'Split it.'),
    isSecret(path) && found('secrets', 'Suspicious', `${path} is a place for secrets`, 'Write an example file.'),
    tampersBy(path, content) &&
      found('test-tampering', 'Suspicious', `the content switches off tests in ${path}`, 'Repair the code under test.'),
  ];
  return [...out.filter((one) => one !== false), ...contentFindings(path, content)];
}

/** A script that is only written: what would be refused when it runs is looked at now. */
function scriptFindings(path: string, content: string, ground: Ground): readonly Omit<Finding, 'span'>[] {
  if (!/\.(?:sh|bash|zsh|py)$/.test(path) && !/^#!.*\b(?:sh|bash|python[\d.]*)\b/.test(content)) return [];
  const language = languageOf(path, content);
  if (language === 'text' || content.length > maxCommand) return [];
  const [root = '/'] = ground.policy.roots;
  const name = path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
  const { findings } = conclude(analyseScript(language, content, { ...ground, cwd: posix.dirname(path) }, name), ground, null);
  return findings
    .filter((one) => one.severity === 'Critical')
    .map((one) => ({ ...one, severity: 'Suspicious', reason: `when the script runs: ${one.reason}` }));
}

/** Rails of acts that no build, job or recipe needs, whatever its rights are where it runs. */
const nowhere: ReadonlySet<string> = new Set(['fetch-to-exec', 'raw-disk', 'catastrophic-delete']);

/** Commands that recipes, jobs and scripts of a project hold: they run on machines of others, without a look at each. */
function embeddedFindings(path: string, content: string, ground: Ground): readonly Omit<Finding, 'span'>[] {
  const shell = embeddedShell(path, content.slice(0, maxCommand));
  if (shell === '') return [];
  const all = analyseScript('shell', shell, { ...ground, cwd: ground.policy.roots[0] ?? '/' }).commands;
  const commands = buildsImage(path, content) ? all.filter((command) => !clearsImage(command)) : all;
  const { findings } = conclude({ commands, problems: [] }, ground, null);
  return findings
    .filter(({ rail, severity }) => nowhere.has(rail) && (severity === 'Critical' || severity === 'High'))
    .map(({ line, ...one }) => ({
      ...one,
      severity: 'Unknown',
      reason: `when ${posix.basename(path)} is run: ${one.reason}`,
      // Its recipes and steps alone were read, so that their lines have other numbers.
      ...(line !== undefined && { line: { text: line.text } }),
    }));
}
