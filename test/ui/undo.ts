// A task that delivered its change, and what undoing it in the browser comes to.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { execa } from 'execa';
import { pack } from 'tar-stream';
import { expect } from 'vitest';
import type { Server } from '../contract/api/server.ts';
import { before, patch, sample, type Sample } from './content.ts';
import type { OpenPage } from './page.ts';

/** A revert bundle as far as it is read: its description. */
export function bundle(): Promise<Buffer> {
  const tar = pack();
  const description = {
    from: { snapshot: 's0004' },
    to: { snapshot: 's0000' },
    ops: [
      { op: 'M', path: 'workspace/dates/tokenizer.py' },
      { op: 'A', path: 'workspace/CHANGES.md' },
    ],
    external: [{ target: 'the request to the wiki', state: 'Done', why: 'it left the sandbox' }],
  };
  tar.entry({ name: 'description.json' }, JSON.stringify(description));
  tar.finalize();
  return buffer(tar);
}

/** One that pushed its branch. */
export const delivered = (): Sample =>
  sample('delivered', {
    goal: 'Keep the minutes of offsets.',
    phase: 'Succeeded',
    age: 50,
    tokens: 30_000,
    run: { output: { branch: 'agentfleet/delivered', commit: 'ab'.repeat(20) } },
    output: { git: { branch: 'agentfleet/delivered', pullRequest: { title: 'Keep the minutes' } } },
  });

/** Looks, tries and starts the undo; `tasks` is the path of the collection. Its check is run on both states of the tree. */
export async function undoes(open: OpenPage, server: Server, tasks: string): Promise<void> {
  const { page } = open;
  await page.getByRole('button', { name: 'Undo …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('remove workspace/CHANGES.md').waitFor();
  expect(await dialog.getByLabel('Branch where the change stands now').inputValue()).toBe('agentfleet/delivered');
  await open.shot('undo');
  expect(await open.axe()).toEqual([]);
  await dialog.getByRole('button', { name: 'Try without applying' }).click();
  await dialog.getByText('The API server would take it.').waitFor();
  const path = `${tasks}/delivered-undo`;
  expect((await server.ask('GET', path)).status).toBe(404);
  await dialog.getByRole('button', { name: 'Start the undo' }).click();
  await page.getByRole('heading', { name: 'delivered-undo' }).waitFor();
  const { spec } = (await server.ask('GET', path)).body as unknown as {
    readonly spec: { readonly workspace: object; readonly output: object; readonly checks: readonly { readonly command: string[] }[] };
  };
  expect(spec.workspace).toMatchObject({ git: { ref: 'agentfleet/delivered' } });
  expect(spec.output).toMatchObject({ git: { pullRequest: { title: 'Take back the change of delivered' } } });
  // Its check decides: it fails where the change stands, and holds where it was taken back.
  const [program = '', ...args] = spec.checks[0]?.command ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'undo-'));
  try {
    const holds = async (): Promise<boolean> => (await execa(program, args, { cwd: folder, reject: false })).exitCode === 0;
    await mkdir(join(folder, 'dates'));
    await writeFile(join(folder, 'dates/tokenizer.py'), before);
    expect(await holds()).toBe(true);
    await execa('git', ['apply', '-'], { cwd: folder, input: patch });
    expect(await holds()).toBe(false);
    await execa('git', ['apply', '-R', '-'], { cwd: folder, input: patch });
    expect(await holds()).toBe(true);
  } finally {
    await rm(folder, { recursive: true });
  }
  await open.close();
}

/** Has `date-offsets`, which runs, go back to its first snapshot. */
export async function goesBack(open: OpenPage, orders: () => Promise<readonly Readonly<Record<string, unknown>>[]>): Promise<void> {
  const { page } = open;
  await page.getByRole('button', { name: 'Go back to here …' }).last().click();
  const dialog = page.getByRole('dialog', { name: 'Put all files back to s0000?' });
  await expect.poll(() => dialog.innerText(), { timeout: 30_000 }).toMatch(/put back\s+dates\/tokenizer\.py/);
  await open.shot('go-back');
  expect(await open.axe()).toEqual([]);
  const yes = dialog.getByRole('button', { name: 'Put back' });
  expect(await yes.isDisabled()).toBe(true);
  await dialog.getByLabel('What the agent should do instead').fill('Read the tests first.');
  await yes.click();
  await open.sees('The files are put back at the next step of the agent.');
  expect((await orders()).find(({ snapshot }) => snapshot !== undefined)).toMatchObject({
    type: 'Message',
    snapshot: 's0000',
    message: 'Read the tests first.',
    taskRef: { name: 'date-offsets' },
  });
  await open.close();
}

/** A dashboard that is read-only shows what undoing would do and changes nothing; `tasks` is the address of the tasks' pages. */
export async function onlyShows(open: OpenPage, tasks: string): Promise<void> {
  const { page } = open;
  await page.goto(`${tasks}/delivered`);
  await page.getByRole('button', { name: 'Undo …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('remove workspace/CHANGES.md').waitFor();
  await dialog.getByText('read-only: copy the task for kubectl').waitFor();
  for (const name of ['Start the undo', 'Try without applying']) expect(await dialog.getByRole('button', { name }).count(), name).toBe(0);
  await page.goto(`${tasks}/date-offsets?tab=timeline`);
  await page.getByRole('button', { name: 'What changed since s0000' }).waitFor();
  for (const name of ['Go back to here …', 'Suspend', 'Cancel and restore …', 'Terminate …', 'Message'])
    expect(await page.getByRole('button', { name }).count(), name).toBe(0);
  await open.close();
}
