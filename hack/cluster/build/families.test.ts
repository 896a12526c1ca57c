import { describe, expect, it } from 'vitest';
import { buildArguments, families, family, familyOf, familyVersion, requiredVersion } from './families.ts';

describe('requiredVersion', () => {
  it('reads single and grouped requirements, and is not fooled by longer paths', () => {
    const text = 'require (\n\ta.io/b/c v0.1.0 // indirect\n\ta.io/b v1.2.3\n)\nrequire d.io/e v4.5.6\n';
    expect(requiredVersion(text, 'a.io/b')).toBe('v1.2.3');
    expect(requiredVersion(text, 'd.io/e')).toBe('v4.5.6');
    expect(() => requiredVersion(text, 'a.io')).toThrow(/no version/);
  });

  it('finds a version for every family in its go.mod', async () => {
    for (const each of families) expect(await familyVersion(each)).toMatch(/^v\d+\.\d+\.\d+/);
  });
});

describe('buildArguments', () => {
  it('stamps the Kubernetes version where kubelet and kubectl read it', () => {
    const flags = buildArguments(family('kubernetes'), 'v1.36.3').join(' ');
    expect(flags).toContain('-X k8s.io/component-base/version.gitVersion=v1.36.3');
    expect(flags).toContain('-X k8s.io/client-go/pkg/version.gitMinor=36');
    expect(flags).toContain('-trimpath');
  });

  it('builds the S3 server without cgo, because its image is not built separately', () => {
    expect(family('versitygw').cgo).toBe(false);
    expect(buildArguments(family('versitygw'), 'v1.8.0').join(' ')).toContain('-X main.Version=v1.8.0');
  });

  it('builds runc with seccomp', () => {
    expect(buildArguments(family('runc'), 'v1.4.3')).toContain('-tags=seccomp');
    expect(family('runc').cgo).toBe(true);
  });
});

it('knows which family makes a binary', () => {
  expect(familyOf('etcd')?.name).toBe('kubernetes');
  expect(familyOf('ctr')?.name).toBe('containerd');
  expect(familyOf('nonsense')).toBeUndefined();
});
