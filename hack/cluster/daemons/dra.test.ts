import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Binaries } from '../build/binaries.ts';
import { familiesFor } from '../local/facts.ts';
import { layoutAt } from '../base/layout.ts';
import { draClass, preparedIn, publishedDevices } from '../local/dra.ts';
import { defaultPorts } from '../base/ports.ts';
import { draDevices, draDriver, draDriverName } from './csi.ts';
import { containerdConfig } from './node.ts';

const around = {
  layout: layoutAt('/var/lib/agentfleet-cluster'),
  binaries: new Binaries(
    new Map([
      ['dra', '/b/dra'],
      ['runc', '/b/runc'],
    ]),
  ),
  ports: defaultPorts,
  nodeName: 'n1',
  address: '192.0.2.7',
};

describe('the DRA driver of tests', () => {
  it('is built only on request', () => {
    const wanted = { tier: 'node', kwok: false, gvisor: false, csi: false } as const;
    expect(familiesFor({ ...wanted, dra: false })).not.toContain('dra');
    expect(familiesFor({ ...wanted, dra: true })).toContain('dra');
  });

  it('writes its devices to the folder that containerd reads, below those that down removes', () => {
    const [folder = ''] = draDriver(around).args.flatMap((word) => /^--cdi-root=(.*)$/.exec(word)?.[1] ?? []);
    expect(folder.startsWith(`${around.layout.run}/`)).toBe(true);
    expect(containerdConfig(around)).toContain(`cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi", "${folder}"]`);
  });

  it('is found by down even when its record is lost', () => {
    expect(draDriver(around).args.some((word) => word.includes(around.layout.state))).toBe(true);
  });

  it('has a class of its own name, which the chart’s gpu.driver and gpu.deviceClass name', () => {
    expect(draClass()).toMatchObject({ metadata: { name: draDriverName } });
    expect(JSON.stringify(draClass())).toContain(`device.driver == '${draDriverName}'`);
  });

  it('reports the claims it has prepared', async () => {
    const run = await mkdtemp(join(tmpdir(), 'agentfleet-dra-'));
    try {
      expect(await preparedIn({ run })).toEqual([]);
      await mkdir(join(run, 'cdi'));
      const uid = 'e2c4e2e4-9433-45fe-b268-5b818520f317';
      for (const part of ['common', uid]) await writeFile(join(run, 'cdi', `k8s.gpu.example.com-gpu_${part}.yaml`), '');
      expect(await preparedIn({ run })).toEqual([uid]);
    } finally {
      await rm(run, { recursive: true });
    }
  });

  it('is there when all devices of this node are, and those of others do not count', () => {
    const slice = (nodeName: string, devices: number, driver = draDriverName) => ({
      spec: { driver, nodeName, devices: Array.from({ length: devices }) },
    });
    expect(publishedDevices(undefined, 'n1')).toBe(0);
    expect(publishedDevices({ items: [slice('n1', 3), slice('n1', 1), slice('n2', 4), slice('n1', 9, 'other')] }, 'n1')).toBe(draDevices);
  });
});
