import { loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { Binaries } from '../build/binaries.ts';
import { familiesFor } from '../local/facts.ts';
import { layoutAt } from '../base/layout.ts';
import { csiManifests } from '../local/up.ts';
import { defaultPorts } from '../base/ports.ts';
import { csiDriver, csiDriverName, csiSidecars } from './csi.ts';

const around = {
  layout: layoutAt('/var/lib/agentfleet-cluster'),
  binaries: new Binaries(new Map([['csi', '/b/csi']])),
  ports: defaultPorts,
  nodeName: 'n1',
  address: '192.0.2.7',
};

describe('the CSI driver of tests and its sidecars', () => {
  it('are built only on request', () => {
    const wanted = { tier: 'node', kwok: false, gvisor: false, dra: false } as const;
    expect(familiesFor({ ...wanted, csi: false })).not.toContain('csi');
    expect(familiesFor({ ...wanted, csi: true })).toContain('csi');
  });

  it('are found by down even when their records are lost', () => {
    for (const { args } of [csiDriver(around), ...csiSidecars(around)]) {
      expect(args.some((word) => word.includes(around.layout.state))).toBe(true);
    }
  });

  it('keep volumes where down removes them', () => {
    expect(csiDriver(around).args).toContain('--state=/var/lib/agentfleet-cluster/csi');
  });

  it('share one driver among their classes', () => {
    const objects = loadAll(csiManifests()) as {
      readonly metadata: { readonly name: string };
      readonly provisioner?: string;
      readonly driver?: string;
    }[];
    expect(objects.map(({ metadata, provisioner, driver }) => provisioner ?? driver ?? metadata.name)).toEqual(
      Array(3).fill(csiDriverName),
    );
  });
});
