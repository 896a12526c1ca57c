import type { Static } from 'typebox';
import { execBounds } from '../../keeper/exec.ts';
import { atomicList, choice, integer, labelName, listByKey, optional, rule, setOf, struct, text } from '../schema/index.ts';

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
    'What it may reach through the egress proxy. Registries: what the platform has listed. Allowed: spec.policy.network.hosts.',
    ['None', 'Registries', 'Allowed'],
    'None',
  ),
});
export type SetupStep = Static<typeof SetupStep>;

/** How results of a check are read. */
export const checkFormats = ['Auto', 'Exit', 'JUnit', 'TAP', 'Pytest', 'NodeTest', 'GoTest'] as const;

/** One proof that the goal is reached. */
export const Check = struct('One proof that the goal is reached.', {
  name: labelName('Name in status and messages.'),
  type: choice('What proves it; Command is the exit status and output of a program.', ['Command'], 'Command'),
  command: command('spec.checks[].command'),
  timeoutSeconds,
  format: choice('How single tests are told apart in the output; Exit looks at the exit status only.', checkFormats, 'Auto'),
  expect: choice(
    'Pass: passes at the end. FailThenPass: fails at snapshot 0 too, so that passing proves a change. Auto: decided at snapshot 0.',
    ['Auto', 'Pass', 'FailThenPass'],
    'Auto',
  ),
});
export type Check = Static<typeof Check>;

/** `spec.setup`. */
export const setup = listByKey('Commands before snapshot 0, in this order.', 'name', SetupStep, { max: 16 });

/** `spec.checks`. */
export const checks = listByKey('What must hold for the task to be called Succeeded.', 'name', Check, { max: 16, min: 1 });

/** `spec.protect`. */
export const Protect = struct(
  'Files that the agent must not change, because the checks depend on them.',
  {
    mode: choice(
      'Default: test files, test configuration and the entry scripts of the checks. None: only paths.',
      ['Default', 'None'],
      'Default',
    ),
    paths: optional(
      setOf('Further patterns.', text('A glob below the workspace, for example tests/**.', { max: 512, min: 1 }), {
        max: 64,
        rules: [
          rule(
            "self.all(path, !path.startsWith('/') && !path.split('/').exists(part, part == '..'))",
            "spec.protect.paths must be relative and without '..'; write them like tests/**",
          ),
        ],
      }),
    ),
  },
  { filled: true },
);
export type Protect = Static<typeof Protect>;
