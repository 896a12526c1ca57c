import { KeeperRefusal } from '@agentfleet/keeper/client';
import type { SandboxSession } from './sandboxSession.ts';

/**
 * Returns the environment of the agent's commands: a question does not make git write its index, and compiled packages of Go lie where no
 * snapshot holds them, unless set-up left some for all commands.
 */
export async function actEnvironment(session: Pick<SandboxSession, 'call' | 'located'>): Promise<Readonly<Record<string, string>>> {
  const compiled = session.call((keeper) => keeper.listFiles(session.located('../home/.cache/go-build'), 1, 1));
  const isThere = await compiled.then(
    () => true,
    (error: unknown) => {
      if (error instanceof KeeperRefusal) return false;
      throw error;
    },
  );
  return { GIT_OPTIONAL_LOCKS: '0', ...(isThere ? {} : { GOCACHE: '/tmp/.go-build' }) };
}
