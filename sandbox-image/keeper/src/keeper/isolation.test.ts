import { describe, expect, it } from 'vitest';
import { isolationFault, isolationOf, notReady, type ReadinessFacts } from './keeper.ts';
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
  const facts: ReadinessFacts = {
    link: { connected: true, instance: 'i', connections: 1, info },
    logBroken: null,
    layered: false,
    networkReason: null,
    allowUnenforcedNetwork: false,
  };

  it.each<[string | null, Partial<ReadinessFacts>]>([
    [null, {}],
    ['AF_LOG_BROKEN', { logBroken: 'x' }],
    ['AF_TOOLS_UNAVAILABLE', { link: { connected: false, instance: null, connections: 0, info: null } }],
    ['AF_TOOLS_UNAVAILABLE', { link: { ...facts.link, info: { ...info, dumpable: true } } }],
    ['AF_TOOLS_UNAVAILABLE', { layered: true }],
    ['AF_TOOLS_UNAVAILABLE', { link: { ...facts.link, info: { ...info, layered: true } } }],
    ['AF_NETWORK_NOT_ENFORCED', { networkReason: 'open' }],
    [null, { networkReason: 'open', allowUnenforcedNetwork: true }],
  ])('is refused with %s', (code, change) => {
    expect(notReady({ ...facts, ...change })?.code ?? null).toBe(code);
  });
});
