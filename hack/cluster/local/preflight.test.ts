import { describe, expect, it } from 'vitest';
import { preflight, type PreflightFacts } from './preflight.ts';

const good: PreflightFacts = {
  tier: 'node',
  platform: 'linux',
  arch: 'x64',
  uid: 0,
  osRelease: 'ID=debian\n',
  missingPackages: ['ipset'],
  goVersion: 'go1.26.8',
  goNeeded: '1.26.0',
  goMayUpgrade: false,
  kubeletPortOwner: undefined,
  foreignKubeletDir: false,
  disks: [{ path: '/var', freeBytes: 20e9, neededBytes: 10e9 }],
};

const codes = (changed: Partial<PreflightFacts>): string[] => preflight({ ...good, ...changed }).map((error) => error.code);

describe('preflight', () => {
  it('lets a good machine pass', () => expect(codes({})).toEqual([]));

  it.each<[string, Partial<PreflightFacts>]>([
    ['AF_UNSUPPORTED_OS', { platform: 'darwin' }],
    ['AF_UNSUPPORTED_ARCH', { arch: 'riscv64' }],
    ['AF_UNSUPPORTED_OS', { osRelease: 'ID=fedora\n' }],
    ['AF_NOT_ROOT', { uid: 1000 }],
    ['AF_NOT_ROOT', { uid: 1000, tier: 'control-plane', missingPackages: ['openssl'] }],
    ['AF_GO_TOO_OLD', { goVersion: 'go1.25.9' }],
    ['AF_PORT_TAKEN', { kubeletPortOwner: 'kubelet (pid 7)' }],
    ['AF_FOREIGN_KUBELET', { foreignKubeletDir: true }],
    ['AF_DISK_FULL', { disks: [{ path: '/', freeBytes: 1, neededBytes: 2 }] }],
  ])('refuses with %s for %o', (code, changed) => expect(codes(changed)).toEqual([code]));

  it('names the missing Go first', () => expect(codes({ goVersion: undefined })[0]).toBe('AF_GO_MISSING'));

  it('accepts derivatives, and any Linux that has the packages', () => {
    expect(codes({ osRelease: 'ID=ubuntu\nID_LIKE=debian\n' })).toEqual([]);
    expect(codes({ osRelease: 'ID=fedora\n', missingPackages: [] })).toEqual([]);
  });

  it('needs neither root nor the kubelet port for a control plane', () => {
    expect(codes({ tier: 'control-plane', uid: 1000, missingPackages: [], kubeletPortOwner: 'x', foreignKubeletDir: true })).toEqual([]);
  });

  it('compares versions by number, not by letter', () => expect(codes({ goVersion: 'go1.100.0' })).toEqual([]));

  it('reports fault, place and cure', () => {
    const [error] = preflight({ ...good, kubeletPortOwner: 'nginx (pid 42)' });
    expect(error?.message).toMatch(/nginx \(pid 42\).*kubelet.*Stop that process/);
  });
});
