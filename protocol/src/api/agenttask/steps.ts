import type { Static } from 'typebox';
import { execBounds } from '../../keeper/exec.ts';
import { maxFileBytes } from '../../keeper/files.ts';
import {
  atomicList,
  choice,
  integer,
  labelName,
  listByKey,
  optional,
  relativePath,
  rule,
  setOf,
  struct,
  text,
  type Rule,
} from '../schema/index.ts';

/** Wall time of a set-up step or check that names none, in seconds; never more than the task's deadline. */
export const defaultStepTimeoutSeconds = 600;

function command(path: string): ReturnType<typeof atomicList<ReturnType<typeof text>>> {
  return atomicList('Program and arguments; no shell in between.', text('One argument.', { max: 8192 }), {
    max: 64,
    min: 1,
    rules: [rule("self[0].trim() != ''", `${path}[0] must name a program; write it like [npm, test]`)],
  });
}

const timeoutSeconds = optional(
  integer(
    `Wall time in seconds; default: ${defaultStepTimeoutSeconds}, or spec.deadlineSeconds where that is less.`,
    1,
    execBounds.maxTimeoutSeconds,
  ),
);

/** One command that runs before snapshot 0. */
export const SetupStep = struct('One command that prepares the workspace; it must end with exit status 0.', {
  name: labelName('Name in logs and messages.'),
  command: command('spec.setup[].command'),
  timeoutSeconds,
  network: choice(
    'Hosts in reach through the egress proxy. Registries: those that the platform has listed. Allowed: spec.policy.network.hosts.',
    ['None', 'Registries', 'Allowed'],
    'None',
  ),
});
export type SetupStep = Static<typeof SetupStep>;

/** Formats in which results of a check are read. */
export const checkFormats = ['Auto', 'Exit', 'JUnit', 'TAP', 'Pytest', 'NodeTest', 'GoTest'] as const;

/** Kinds of proof that a goal is reached. */
export const checkTypes = ['Command', 'Artifact', 'Review'] as const;
export type CheckType = (typeof checkTypes)[number];

/** Largest size that `minBytes` may name: that of a file that the keeper reads. */
const maxArtifactBytes = maxFileBytes;

/** Characters of `spec.checks[].jsonSchema`. */
export const maxSchemaCharacters = 16_384;

function onlyFor(type: CheckType, ...fields: readonly string[]): readonly Rule[] {
  return fields.map((field) =>
    rule(
      `self.type == '${type}' || !has(self.${field})`,
      `spec.checks[].${field} must be set for checks of type ${type} only; remove it or set the type`,
    ),
  );
}

const ofType: readonly Rule[] = [
  rule(
    "self.type == 'Command' ? has(self.command) : !has(self.command)",
    'spec.checks[].command must be set exactly when spec.checks[].type is Command; set or remove it',
  ),
  rule(
    "self.type == 'Artifact' ? has(self.path) : !has(self.path)",
    'spec.checks[].path must be set exactly when spec.checks[].type is Artifact; set or remove it',
  ),
  ...onlyFor('Command', 'timeoutSeconds'),
  ...onlyFor('Artifact', 'minBytes', 'contains', 'jsonSchema'),
  rule("self.type == 'Command' || self.format == 'Auto'", 'spec.checks[].format must be set for checks of type Command only; remove it'),
  rule("self.type != 'Review' || self.expect == 'Auto'", 'spec.checks[].expect must not be set for checks of type Review; remove it'),
];

/** One proof that the goal is reached. */
export const Check = struct(
  'One proof that the goal is reached.',
  {
    name: labelName('Name in status and messages.'),
    type: choice(
      'Kind of proof. Command: the exit status and output of a program. Artifact: a file of the workspace. Review: a person, who sees the change after all other checks hold.',
      checkTypes,
      'Command',
    ),
    command: optional(command('spec.checks[].command')),
    path: optional(relativePath('With Artifact: a regular file below the workspace that must be there at the end.', 'spec.checks[].path')),
    minBytes: optional(integer('Least size of the file.', 0, maxArtifactBytes)),
    contains: optional(
      atomicList('Texts that the file must hold, each of them.', text('A text, compared as it is.', { max: 512, min: 1 }), {
        max: 16,
        min: 1,
      }),
    ),
    jsonSchema: optional(
      text('JSON Schema (draft 2020-12), as JSON, that the file must fulfil as JSON.', { max: maxSchemaCharacters, min: 2 }),
    ),
    timeoutSeconds,
    format: choice(
      'Format by which single tests are distinguished in the output; Exit looks at the exit status only.',
      checkFormats,
      'Auto',
    ),
    expect: choice(
      'Pass: passes at the end. FailThenPass: fails at snapshot 0 too, so that passing proves a change. NoRegression: what fails at snapshot 0 may fail, what passes there has to. Auto: Pass or FailThenPass, decided at snapshot 0.',
      ['Auto', 'Pass', 'FailThenPass', 'NoRegression'],
      'Auto',
    ),
  },
  { rules: ofType },
);
export type Check = Static<typeof Check>;

/** A check that runs a program. */
export type CommandCheck = Check & { readonly type: 'Command'; readonly command: readonly string[] };

/** A check that looks at a file. */
export type ArtifactCheck = Check & { readonly type: 'Artifact'; readonly path: string };

export function isCommandCheck(check: Check): check is CommandCheck {
  return check.type === 'Command' && check.command !== undefined;
}

export function isArtifactCheck(check: Check): check is ArtifactCheck {
  return check.type === 'Artifact' && check.path !== undefined;
}

/** `spec.setup`. */
export const setup = listByKey('Commands before snapshot 0, in this order.', 'name', SetupStep, { max: 16 });

/** `spec.checks`. */
export const checks = listByKey('Conditions that must hold for the task to be called Succeeded.', 'name', Check, {
  max: 16,
  min: 1,
  rules: [
    rule(
      `self.map(check, has(check.jsonSchema) ? size(check.jsonSchema) : 0).sum() <= ${2 * maxSchemaCharacters}`,
      `spec.checks[].jsonSchema may hold ${2 * maxSchemaCharacters} characters together; make the schemas shorter`,
    ),
  ],
});

const patterns = (description: string, field: string) =>
  setOf(description, text('A glob below the workspace, for example tests/**.', { max: 512, min: 1 }), {
    max: 64,
    rules: [
      rule(
        "self.all(path, !path.startsWith('/') && !path.split('/').exists(part, part == '..'))",
        `${field} must be relative and without '..'; write them like tests/**`,
      ),
    ],
  });

/** `spec.protect`. */
export const Protect = struct(
  'Files that the agent must not change, because the checks depend on them.',
  {
    mode: choice(
      'Default: test files, test configuration and the entry scripts of the checks. None: only paths.',
      ['Default', 'None'],
      'Default',
    ),
    paths: optional(patterns('Further patterns.', 'spec.protect.paths')),
    except: optional(
      patterns(
        'Patterns of what the agent may change although the default protects it, such as a script that a check runs and that is to be written. Not of paths.',
        'spec.protect.except',
      ),
    ),
  },
  { filled: true },
);
export type Protect = Static<typeof Protect>;
