import { newExecId } from '@agentfleet/keeper/client';
import { EffectJournal, EffectReader, takeBack, type Answer } from '../../effects/index.ts';
import type { Gate } from '../gate.ts';
import type { SandboxSession } from '../sandboxSession.ts';
import { throwIfSuperseded } from '../retryWhileUnavailable.ts';
import type { AttemptContext } from '../ports.ts';
import { reachOf, type Reach } from '../reach.ts';

/** Wall time of one question about what stands outside, and of one way back, seconds. */
const askSeconds = 30;
const undoSeconds = 60;

/** What commands of a candidate may reach. */
export function reachOfActs(context: Pick<AttemptContext, 'task' | 'pool'>): Reach | null {
  return reachOf(context, context.task.spec.policy.network.mode === 'Allowed' ? 'Allowed' : 'None');
}

async function ask(
  session: SandboxSession,
  reach: Reach | null,
  run: { readonly argv: readonly string[] } | { readonly command: string },
): Promise<Answer> {
  const seconds = 'argv' in run ? askSeconds : undoSeconds;
  const { stdout, end } = await session.exec({ ...run, timeoutSeconds: seconds, reach, redaction: 'Raw' }); // ids of commits look like keys
  return { exitCode: end.exitCode, stdout };
}

/** The journal of what candidates do outside of the sandbox. */
export function effectJournal({ context, session }: { readonly context: AttemptContext; readonly session: SandboxSession }): EffectJournal {
  return new EffectJournal({
    attempt: context.assignment.attempt,
    note: (kind, data) => session.note(kind, data),
    probe: (argv) => ask(session, reachOfActs(context), { argv }),
    newId: newExecId,
  });
}

/** Why a way back may not run by itself: the gates hold it to what they hold acts to; a yes to the act is one to its way back. */
export function hindranceOf(gate: Gate, command: string, approved: boolean): string | null {
  const { allowed, decision, why, review, approval } = gate.judge({ rewrites: [], acts: [{ tool: 'Shell', command }] });
  if (allowed && review.length === 0 && approval.length === 0) return null;
  if (decision === 'Deny') return `gate 1 refuses its way back: ${why}`;
  return approved ? null : 'a person has to allow its way back';
}

/**
 * Takes back what stands outside of the sandbox, as far as the gates let it, while the tree is as the agent left it: the
 * ways back need its clones and files. Returns what is left in words; a failure is one of them and keeps no file from its
 * snapshot.
 */
export async function takeBackEffects(context: AttemptContext, session: SandboxSession, gate: Gate): Promise<readonly string[]> {
  const reader = new EffectReader();
  await session.events(reader.visit);
  const { standing } = reader;
  if (standing.length === 0) return [];
  try {
    return await takeBack(standing, {
      attempt: context.assignment.attempt,
      shell: (command) => ask(session, reachOfActs(context), { command }),
      note: (kind, data) => session.note(kind, data),
      hindrance: (command, approved) => hindranceOf(gate, command, approved),
    });
  } catch (error) {
    context.signal.throwIfAborted();
    throwIfSuperseded(error);
    const why = error instanceof Error ? error.message : String(error);
    return standing.map(({ planned, ended }) => {
      const by = ended?.undo == null ? '' : `; take it back with: ${ended.undo.command}`;
      return `${planned.target} may stand: its way back could not be tried (${why})${by}`;
    });
  }
}
