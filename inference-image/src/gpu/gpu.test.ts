import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { heldGpu, gpuTaskOf, runGpuTask, type GpuTask } from './held.ts';

const uuid = 'GPU-8f1c2d3e-0a1b-4c5d-9e8f-001122334455';
const other = 'GPU-8f1c2d3e-0a1b-4c5d-9e8f-00112233445f';
const bus = '0000:07:00.0';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gpu-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A driver that shows GPUs as NVIDIA's does. */
async function driver(gpus: Readonly<Record<string, string>>): Promise<void> {
  for (const [at, id] of Object.entries(gpus)) {
    await mkdir(join(folder, 'gpus', at), { recursive: true });
    const lines = [
      'Model: \t\t NVIDIA A100-SXM4-40GB',
      'IRQ:   \t\t 210',
      `GPU UUID: \t ${id}`,
      `Bus Location: \t ${at}`,
      'Device Minor: \t 2',
    ];
    await writeFile(join(folder, 'gpus', at, 'information'), `${lines.join('\n')}\n`);
  }
}

async function reported(task: GpuTask, env: Readonly<Record<string, string>> = {}): Promise<readonly [number, unknown]> {
  const lastWords = join(folder, 'last-words');
  const places = { driver: join(folder, 'gpus'), devices: join(folder, 'dev') };
  const code = await runGpuTask(task, { env, places, lastWords, ended: Promise.resolve() });
  return [code, JSON.parse(await readFile(lastWords, 'utf8').catch(() => 'null')) as unknown];
}

describe('a container that has a GPU by the device plugin', () => {
  it('reports which, and its place on the bus', async () => {
    await driver({ [bus]: uuid });
    expect(await reported('tell-gpu', { NVIDIA_VISIBLE_DEVICES: uuid })).toEqual([0, { uuid, pciBusID: bus }]);
  });

  it('reports it too where no driver is visible, and where the environment names none', async () => {
    expect(await reported('tell-gpu', { NVIDIA_VISIBLE_DEVICES: uuid })).toEqual([0, { uuid }]);
    await driver({ [bus]: uuid });
    expect(await reported('tell-gpu', { NVIDIA_VISIBLE_DEVICES: '/var/run/nvidia-container-devices' })).toEqual([
      0,
      { uuid, pciBusID: bus },
    ]);
  });

  it.each([
    ['all', 'which GPU was given is not known'],
    ['', 'which GPU was given is not known'],
    ['GPU-1', 'which GPU was given is not known'],
    [`${uuid},${other}`, 'gave 2 GPUs'],
    ['MIG-8f1c2d3e', 'turn off MIG'],
  ])('ends with a fault and its cure for %j', async (named, message) => {
    const [code, answer] = await reported('tell-gpu', { NVIDIA_VISIBLE_DEVICES: named });
    expect(code).toBe(1);
    expect((answer as { error: string }).error).toContain(message);
  });

  it('does not believe an environment that the driver denies', () => {
    expect(() => heldGpu(uuid, [{ uuid: other, pciBusID: bus }])).toThrow(/the driver shows GPU-/);
    // Before its first use a GPU has no uuid yet.
    expect(heldGpu(uuid, [{ uuid: undefined, pciBusID: bus }])).toEqual({ uuid, pciBusID: bus });
    expect(() => heldGpu(undefined, [{ uuid: undefined, pciBusID: bus }])).toThrow(/is not known/);
  });

  it('holds it until it has to end, and reports nothing', async () => {
    expect(await reported('hold-gpu')).toEqual([0, null]);
  });
});

describe('a container that asked for GPUs by its environment', () => {
  it('counts visible GPUs', async () => {
    expect(await reported('probe-gpu')).toEqual([0, { gpus: 0 }]);
    await mkdir(join(folder, 'dev'));
    for (const name of ['nvidia0', 'nvidia3', 'nvidiactl', 'null']) await writeFile(join(folder, 'dev', name), '');
    expect(await reported('probe-gpu')).toEqual([0, { gpus: 2 }]);
  });

  it('counts the GPUs of the driver', async () => {
    await driver({ [bus]: uuid, '0000:0f:00.0': other });
    expect(await reported('probe-gpu')).toEqual([0, { gpus: 2 }]);
  });
});

it('other words on the command line are none of this', () => {
  expect(gpuTaskOf(['hold-gpu'])).toBe('hold-gpu');
  expect(gpuTaskOf([])).toBeUndefined();
  expect(gpuTaskOf(['serve'])).toBeUndefined();
});
