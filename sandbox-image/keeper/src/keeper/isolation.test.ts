import { describe, expect, it } from 'vitest';
import { isolationFault, isolationOf, notReady, type Deciding } from './keeper.ts';
import type { RunnerInfo } from '../link/index.ts';

const info: RunnerInfo = {
  version: 'x',
  capEff: '0',
  noNewPrivs: true,
  seccomp: 2,
  dumpable: false,
  userNamespace: true,
  landlockABI: 7,
  terminals: true,
  layered: false,
  guest: null,
  probe: { seccompDenies: true, landlockDenies: true, storeAbsent: true, powerless: true, error: null },
};

describe('the isolation level', () => {
  it.each<[string, Partial<RunnerInfo>, string | null]>([
    ['UserNamespace', {}, null],
    ['Landlock', { userNamespace: false }, null],
    ['Seccomp', { landlockABI: 0 }, null],
    ['Seccomp', { probe: { ...info.probe, landlockDenies: false } }, null],
    ['Container', { seccomp: 0 }, null],
    ['Container', { probe: { ...info.probe, seccompDenies: false }, guest: 'gVisor' }, 'gvisor'],
    ['RuntimeClass', { landlockABI: 0, userNamespace: false, guest: 'gVisor' }, 'gvisor'],
    ['RuntimeClass', { landlockABI: 0, seccomp: 0, guest: 'gVisor' }, 'gvisor'],
    ['UserNamespace', {}, 'runc-by-another-name'],
    ['Seccomp', { landlockABI: 0, guest: 'gVisor' }, null],
  ])('is %s by what was tried', (level, change, runtimeClass) => {
    expect(isolationOf({ ...info, ...change }, runtimeClass).level).toBe(level);
  });

  it('does not matter when the store is visible or the key can be read', () => {
    expect(isolationFault(info)).toBeNull();
    expect(isolationFault({ ...info, dumpable: true })).toContain('key');
    expect(isolationFault({ ...info, probe: { ...info.probe, storeAbsent: false } })).toContain('store');
    const failed = { ...info.probe, storeAbsent: false, error: 'setpriority: permission denied' };
    expect(isolationFault({ ...info, probe: failed })).toContain('setpriority: permission denied');
    expect(isolationFault({ ...info, probe: { ...info.probe, powerless: false } })).toContain('capabilities');
  });
});

describe('readiness', () => {
  const state = { connected: true, instance: 'i', connections: 1, info };
  const config = { snapshotEngine: 'CAS', network: { allowUnenforced: false, targets: [] } } as const;
  const parts: Deciding = { config, link: { state }, log: { broken: null }, network: { reason: null } };

  it.each<[string | null, Partial<Deciding>]>([
    [null, {}],
    ['AF_LOG_BROKEN', { log: { broken: { seq: 1, why: 'x' } } }],
    ['AF_TOOLS_UNAVAILABLE', { link: { state: { connected: false, instance: null, connections: 0, info: null } } }],
    ['AF_TOOLS_UNAVAILABLE', { link: { state: { ...state, info: { ...info, dumpable: true } } } }],
    ['AF_TOOLS_UNAVAILABLE', { config: { ...config, snapshotEngine: 'Overlay' } }],
    ['AF_TOOLS_UNAVAILABLE', { link: { state: { ...state, info: { ...info, layered: true } } } }],
    ['AF_NETWORK_NOT_ENFORCED', { network: { reason: 'open' } }],
    [null, { network: { reason: 'open' }, config: { ...config, network: { allowUnenforced: true, targets: [] } } }],
  ])('is refused with %s', (code, change) => {
    expect(notReady({ ...parts, ...change })?.code ?? null).toBe(code);
  });
});
