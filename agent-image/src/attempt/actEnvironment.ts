import { isFolder } from './checkRun.ts';
import type { SandboxSession } from './sandboxSession.ts';

/**
 * Returns the environment of the agent's commands: a question does not make git write its index, and compiled packages of Go lie where no
 * snapshot holds them, unless set-up left some for all commands.
 */
export async function actEnvironment(session: Pick<SandboxSession, 'call' | 'located'>): Promise<Readonly<Record<string, string>>> {
  const isThere = await isFolder(session, session.located('../home/.cache/go-build'));
  return { GIT_OPTIONAL_LOCKS: '0', ...(isThere ? {} : { GOCACHE: '/tmp/.go-build' }) };
}
