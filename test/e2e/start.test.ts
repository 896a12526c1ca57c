// docs/start.md, command by command: from an endpoint and a key to a merged pull request. In long runs: its forge is a
// Gitea from its Go module.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { deleteNamespace, Kubectl } from '../../hack/sandbox/index.ts';
import { askGitea } from '../../hack/start/gitea.ts';
import { startLocal, writeVariables, type StartVariables } from '../../hack/start/index.ts';
import { Turns } from '../turns/turns.ts';

const page = join(import.meta.dirname, '..', '..', 'docs', 'start.md');

/** Returns the commands of the page by chapter, without those below the mark. */
async function commands(): Promise<readonly string[]> {
  const text = (await readFile(page, 'utf8')).replaceAll(/<!-- not run -->\n\n```sh\n[\s\S]*?^```\n/gm, '');
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
}

describe.skipIf(process.env['AGENTFLEET_FULL'] !== '1')('docs/start.md', () => {
  const provided = inject('fleet');
  const bin = (name: string): string => provided.bins[name] ?? name;
  const cluster = { kubeconfig: provided.kubeconfig, context: provided.context, bin };
  const kubectl = new Kubectl(cluster);
  const turns = new Turns(provided.run);
  let end = (): Promise<void> => Promise.resolve();
  let folder: string;
  let variables: StartVariables;
  let file: string;

  beforeAll(async () => {
    // A set-up that failed is run again.
    await end();
    end = await turns.beside();
    folder = await mkdtemp(join(tmpdir(), 'start-'));
    const environment = { cluster, image: (name: string) => provided.images[name] ?? '' };
    variables = await startLocal(environment, folder);
    file = await writeVariables(folder, variables, cluster);
    await deleteNamespace(kubectl, 'demo');
  }, 1_200_000);
  afterAll(async () => {
    try {
      for (const namespace of ['demo', 'start']) await deleteNamespace(kubectl, namespace);
      await rm(folder, { recursive: true });
    } finally {
      await end();
    }
  }, 600_000);

  test('leads to a pull request that is merged, and a branch whose tests pass', async () => {
    const blocks = await commands();
    expect(blocks).toHaveLength(4);
    const script = [`. ${file}`, `cd ${folder}`, ...blocks].join('\n');
    const { exitCode, all } = await execa('bash', ['-euo', 'pipefail', '-c', script], { all: true, reject: false, timeout: 900_000 });
    expect([exitCode, exitCode === 0 ? '' : all]).toEqual([0, '']);
    expect(all).toMatch(/pull request: https:\/\/\S+\/robot\/cart\/pulls\/1/);
    expect(all).toMatch(/Ran 3 tests.*\n\nOK/s);
    const at = { origin: new URL(variables.GIT_URL).origin, authorities: variables.GIT_CA, token: variables.GIT_TOKEN };
    expect(await askGitea(at, 'GET', '/repos/robot/cart/pulls/1')).toMatchObject({ merged: true, base: { ref: 'main' } });
  }, 1_000_000);
});
