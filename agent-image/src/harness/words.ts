import { isArtifactCheck, isCommandCheck, type AgentTask } from '@agentfleet/protocol/api';
import type { HarnessBrief } from '@agentfleet/protocol/pool';
import { tail } from '../attempt/checkRun.ts';
import { AttemptFailure } from '../base/failure.ts';
import type { ModelEndpoint } from './endpoint/index.ts';

/** Below /tmp, which no snapshot holds: a change of the home folder would be one outside of the workspace. */
export const places = { goal: '/tmp/agentfleet/goal.md', home: '/tmp/agentfleet/home' } as const;

/** Characters that are passed to another round, and of the output that messages show. */
const maxHandedBack = 6000;
const maxShown = 600;

/** Input of one run of a program. */
export interface Filled {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly goal: string;
  /** Absent: its standard input is closed. */
  readonly stdin?: string;
}

type EndpointWords = Pick<ModelEndpoint, 'url' | 'key' | 'environment'>;

/**
 * The command of a round with its templates filled in. Values are not expanded again: a goal that holds a template
 * keeps it. Pure.
 *
 * @param said why the result of the previous round was rejected; null: it is the first
 */
export function fill(harness: HarnessBrief, task: AgentTask, endpoint: EndpointWords | null, said: string | null): Filled {
  const checks = checksOf(task);
  const earlier = 'An earlier run worked on this goal in the same folder. Its result does not stand:';
  const goal = said === null ? task.spec.goal : `${task.spec.goal}\n\n${earlier}\n${tail(said, maxHandedBack)}`;
  const values: Readonly<Record<string, string>> = {
    goal,
    goalFile: places.goal,
    checks,
    model: harness.model ?? '',
    endpoint: endpoint?.url ?? '',
    key: endpoint?.key ?? '',
  };
  const filled = (text: string): string =>
    text.replaceAll(/\{\{([A-Za-z]+)\}\}/g, (whole, name: string) => (Object.hasOwn(values, name) ? (values[name] ?? '') : whole));
  const own = Object.entries(harness.env).map(([name, value]) => [name, filled(value)]);
  return {
    argv: harness.command.map(filled),
    env: {
      HOME: places.home,
      TERM: 'dumb',
      CI: '1',
      NO_COLOR: '1',
      ...endpoint?.environment,
      ...(Object.fromEntries(own) as Record<string, string>),
    },
    goal,
    ...(harness.input === 'Stdin' && { stdin: goal }),
  };
}

function checksOf({ spec }: AgentTask): string {
  return spec.checks
    .map((check) => {
      if (isCommandCheck(check)) return `${check.name}: ${check.command.join(' ')}`;
      return isArtifactCheck(check) ? `${check.name}: the file ${check.path}` : `${check.name}: a person reviews the change`;
    })
    .join('\n');
}

/** End of a run, for messages. */
export interface RunEnd {
  readonly exitCode: number | null;
  /** The end of both outputs. */
  readonly output: string;
  /** Bytes that were printed and are in no event. */
  readonly dropped: number;
  readonly refused: readonly string[];
}

const login =
  /\b(?:log ?in|sign ?in|authenticat|device code|api[ _-]?key|unauthori[sz]ed|credentials?)\b[^\n]*(?:brows|required|missing|not set|invalid|https?:|run |open |first)|\bopen (?:this|the following) (?:url|link)|\b(?:not logged in|please (?:log|sign) ?in)\b/i;
const terminal =
  /not a (?:tty|terminal)|inappropriate ioctl|raw mode is not supported|requires? (?:a|an interactive) (?:tty|terminal)|no tty\b/i;

/**
 * Returns why a run without changes, or one that had to be ended, was useless. Pure. @param stalled after how many
 * seconds; null: it ended itself
 */
export function useless(program: string, { output, exitCode, ...rest }: RunEnd, stalled: number | null): AttemptFailure {
  const said = showing({ output, exitCode, ...rest });
  if (exitCode !== 0 && login.test(output)) {
    const message = `${program} wants somebody to log in, and nobody is there: give it {{key}} and {{endpoint}} by its variables, see docs/harnesses.md${said}`;
    return new AttemptFailure('InvalidInput', 'HarnessLoginNeeded', message);
  }
  if (exitCode !== 0 && terminal.test(output)) {
    const message = `${program} wants a terminal, and there is none: use the flag by which it runs without one${said}`;
    return new AttemptFailure('InvalidInput', 'HarnessTerminalNeeded', message);
  }
  if (stalled !== null) {
    const message = `${program} printed nothing and asked no model for ${stalled} s, and was ended; it may wait for input, or raise harness.stallSeconds${said}`;
    return new AttemptFailure('Stuck', 'HarnessStalled', message);
  }
  if (exitCode !== 0) {
    const how = exitCode === null ? 'was ended by a signal' : `ended with exit status ${exitCode}`;
    return new AttemptFailure('Stuck', 'HarnessFailed', `${program} ${how} and changed nothing${said}`);
  }
  return new AttemptFailure('Stuck', 'HarnessNoChange', `${program} ended and changed nothing; give a clearer goal${said}`);
}

const wayOut = 'its model is at {{endpoint}}, other hosts open by spec.policy.network.hosts';

/** Describes its last output, the cut part, and the refused connections. Pure. */
export function showing({ output, dropped, refused }: RunEnd): string {
  const last = output.trim();
  const parts = [
    ...(refused.length === 0 ? [] : [`it was refused ${refused.slice(0, 3).join(', ')}: ${wayOut}`]),
    ...(dropped === 0 ? [] : [`${dropped} bytes of its output were cut`]),
    last === '' ? 'it printed nothing' : `it said: ${tail(last, maxShown)}`,
  ];
  return `; ${parts.join('; ')}`;
}
