import type { CommandShell } from '@agentfleet/protocol/chat';
import type { Hands } from '../attempt/hands.ts';

const programs = {
  bash: ['bash', '-o', 'pipefail', '-c'],
  sh: ['/bin/sh', '-o', 'pipefail', '-c'],
  'plain sh': ['/bin/sh', '-c'],
} as const satisfies Readonly<Record<CommandShell, readonly string[]>>;

/** Asks for the best shell that runs a pipeline; writes nothing. */
const question = `bash -o pipefail -c : 2>/dev/null && echo bash && exit
(set -o pipefail) 2>/dev/null && echo sh && exit
echo plain sh`;

/** The shell of the image of a sandbox; null where it has none, so that no command line can be run. */
export async function findShell(hands: Hands): Promise<CommandShell | null> {
  const { stdout, end } = await hands.exec({ argv: ['/bin/sh', '-c', question], timeoutSeconds: 20 });
  const found = stdout.trim();
  return end.exitCode === 0 && Object.hasOwn(programs, found) ? (found as CommandShell) : null;
}

/** A command line as a program: both outputs are one stream, so that their order is that in which they were written. */
export function argvOf(shell: CommandShell, command: string): readonly string[] {
  return ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', ...programs[shell], command];
}
