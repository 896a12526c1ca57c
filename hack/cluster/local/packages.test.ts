import { expect, it } from 'vitest';
import { missingPackages, packagesFor } from './packages.ts';

const dpkg = [
  'gcc\tinstalled\tc-compiler, gcc-x86-64-linux-gnu (= 4:12)',
  'ipset\tconfig-files\t',
  'pkgconf\tinstalled\tpkg-config (= 1.8)',
].join('\n');

it('reports absent and incomplete packages', () => {
  expect(missingPackages(['gcc', 'ipset', 'nftables'], dpkg)).toEqual(['ipset', 'nftables']);
});

it('accepts a package that another one provides', () => {
  expect(missingPackages(['pkg-config'], dpkg)).toEqual([]);
});

it('asks for no compiler and no firewall when there is no node', () => {
  expect(packagesFor('control-plane')).toEqual(['ca-certificates', 'openssl']);
  expect(packagesFor('node')).toContain('libseccomp-dev');
});
