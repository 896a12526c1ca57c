/** The task that takes back what another one delivered. Pure. */
import type { AgentTask } from '@agentfleet/protocol/api';

/** Characters of one argument, and of a goal, that the API takes; arguments that hold the patch. */
const argument = 8000;
const goalRoom = 3000;
const mostArguments = 40;

/** Why no task can take it back; `cure` is what a person does instead. */
export interface NoUndo {
  readonly why: string;
  readonly cure: string;
}

const inParts = (text: string): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / argument) }, (_, at) => text.slice(at * argument, (at + 1) * argument));

/** Where the change of a task is found now: its own branch, else the one that it started from. */
export function changedRef({ spec, status }: AgentTask): string {
  return status?.run?.output?.branch ?? (spec.workspace.type === 'Git' ? spec.workspace.git.ref : '');
}

/**
 * A task on the branch where the change stands. Its check holds when the patch could be applied again, which is when all of it was
 * taken back; at snapshot 0 it does not hold, else there is nothing to undo.
 */
export function undoTask({ metadata, spec }: AgentTask, patch: string, ref: string): object | NoUndo {
  const { name, namespace } = metadata;
  if (spec.workspace.type !== 'Git')
    return {
      why: 'This task began from files of its own and pushed nothing: its change stands in its artifacts alone',
      cure: 'Where you took the change into a folder, revert.tar takes it out of there again',
    };
  if (patch.trim() === '') return { why: 'This task changed no text', cure: 'Where you took the result into a folder, use revert.tar' };
  if (/^(?:GIT binary patch|Binary files )/m.test(patch))
    return { why: 'The change holds binary files, which a patch does not name', cure: 'Use revert.tar in a checkout' };
  const parts = inParts(patch);
  if (parts.length > mostArguments) return { why: 'The change is too long for a task', cure: 'Use revert.tar in a checkout' };
  const shown = patch.length <= goalRoom ? `\n\n${patch}` : ' It is the text that the check "taken-back" is given.';
  const { git } = spec.workspace;
  const { poolRef, profile, setup, sandbox, budget, output } = spec;
  const { branch: _, pullRequest, ...delivery } = output?.git ?? {};
  return {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'AgentTask',
    metadata: { name: `${name.slice(0, 200)}-undo`, namespace },
    spec: {
      ...(poolRef !== undefined && { poolRef }),
      profile,
      goal: `Take back the change of task ${name}, and nothing else: apply this patch in reverse (git apply -R), by hand where it does not fit any more.${shown}`,
      workspace: { type: 'Git', git: { ...git, ref } },
      ...(setup !== undefined && { setup }),
      checks: [
        {
          name: 'taken-back',
          command: ['sh', '-c', 'printf %s "$@" | git apply --check -', 'sh', ...parts],
          format: 'Exit',
          expect: 'FailThenPass',
        },
      ],
      budget,
      ...(sandbox !== undefined && { sandbox }),
      ...(output !== undefined && {
        output: { git: { ...delivery, ...(pullRequest !== undefined && { pullRequest: titled(pullRequest, name) }) } },
      }),
    },
  };
}

const titled = <T extends object>(pullRequest: T, name: string): T => ({ ...pullRequest, title: `Take back the change of ${name}` });
