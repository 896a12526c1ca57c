import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Starts `mcpServer.ts` as a separate process. @param authorization the only value of that header that it accepts */
export async function startMcpServer(authorization?: string): Promise<{ readonly port: number; readonly process: ChildProcess }> {
  const program = fileURLToPath(new URL('mcpServer.ts', import.meta.url));
  const args = authorization === undefined ? [program] : [program, authorization];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { port: Number(line.toString()), process: child };
}
