import { spawn } from 'node:child_process';
import { text as textOf } from 'node:stream/consumers';
import { measureSources, pythonSurfaces, type RunProgram } from '@agentfleet/agent/features';
import { installedGrammars, loadGrammars } from '@agentfleet/agent/rails';

const here: RunProgram = async ([program = '', ...args], stdin) => {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(stdin);
  return textOf(child.stdout);
};

/**
 * Places of new files that do not parse, as a worker measures them; undefined where that cannot be told. The workspace around them is not
 * known, and what a file uses of others would look as if it were not there, so that nothing is told of that.
 */
export async function brokenNodesOf(
  files: readonly { readonly path: string; readonly content: string }[],
): Promise<readonly (number | undefined)[]> {
  const grammars = await loadGrammars(installedGrammars());
  const ports = { grammars, python: pythonSurfaces('/nonexistent', here), read: () => Promise.resolve(null) };
  try {
    const measured = await measureSources(
      files.map(({ path, content }) => [{ path, before: null, after: content }]),
      ports,
    );
    return measured.map(({ brokenNodes }) => brokenNodes);
  } finally {
    grammars.close();
  }
}
