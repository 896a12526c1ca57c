import { describe, expect, it } from 'vitest';
import { bundled, debian, goModules, installed, type Package } from './contents.ts';
import { licenceGate, licenceReport, provenance, purl, signCommands, spdx } from './documents.ts';
import { auditFindings, changelogGate, judgeFindings, versionGate, vulnFindings, type GateResult } from './gates.ts';
import { withImages, withVersion } from './registry.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const image = { name: 'operator', repository: 'registry.example.com/fleet/operator', digest };
const source = { version: '1.2.3', commit: 'c0ffee', date: '2030-01-01T00:00:00Z', locks: { 'package-lock.json': 'b'.repeat(64) } };
const ajv: Package = { type: 'npm', name: '@scope/ajv', version: '8.0.0', licence: 'MIT' };

describe('gates', () => {
  const finding = { id: 'GHSA-1', where: 'tar', title: 'writes outside' };
  const exempt = { id: 'GHSA-1', reason: 'nothing is unpacked by it', until: '2030-06-30' };
  const audit = { vulnerabilities: { tar: { via: ['x', { url: 'https://example.com/advisories/GHSA-1', title: 'writes outside' }] } } };
  const called = '{\n  "finding": {\n    "osv": "GO-1",\n    "trace": [{ "module": "m", "function": "F" }]\n  }\n}\n';
  const imported = '{\n  "finding": {\n    "osv": "GO-2",\n    "trace": [{ "module": "m" }]\n  }\n}\n';
  const allowed = { licences: ['MIT', 'Apache-2.0'], vulnerabilities: [] };
  const licensed = (licence?: string): GateResult =>
    licenceGate(new Map([['operator', [{ type: 'npm', name: 'p', version: '1', ...(licence && { licence }) }]]]), allowed);

  it.each<readonly [string, GateResult['outcome'], () => GateResult]>([
    ['no vulnerability', 'Passed', () => judgeFindings('audit', [], [], '2030-01-01')],
    ['one', 'Failed', () => judgeFindings('audit', [finding], [], '2030-01-01')],
    ['one with a reason, on its last day', 'Passed', () => judgeFindings('audit', [finding], [exempt], '2030-06-30')],
    ['one whose exemption has ended', 'Failed', () => judgeFindings('audit', [finding], [exempt], '2030-07-01')],
    ['what npm found', 'Failed', () => judgeFindings('audit', auditFindings(JSON.stringify(audit)) ?? [], [], '2030-01-01')],
    ['Go that is called', 'Failed', () => judgeFindings('vuln', vulnFindings(imported + called), [], '2030-01-01')],
    ['Go that is imported only', 'Passed', () => judgeFindings('vuln', vulnFindings(imported), [], '2030-01-01')],
    ['an allowed licence', 'Passed', () => licensed('(MIT OR GPL-3.0)')],
    ['a licence of which one half is not allowed', 'Failed', () => licensed('MIT AND GPL-3.0')],
    ['no licence', 'Failed', () => licensed()],
    ['a section of the CHANGELOG', 'Passed', () => changelogGate('# C\n\n## 1.2.3 (today)\n\n- x\n', '1.2.3')],
    ['an empty section', 'Failed', () => changelogGate('## 1.2.3\n\n## 1.2.2\n\n- x\n', '1.2.3')],
    ['only Unreleased', 'Failed', () => changelogGate('## Unreleased\n\n- x\n', '1.2.3')],
    ['a pre-release under Unreleased', 'Passed', () => changelogGate('## Unreleased\n\n- x\n', '1.2.3-rc.1')],
    ['the version of the project', 'Passed', () => versionGate('1.2.3-rc.1', '1.2.3')],
    ['another version', 'Failed', () => versionGate('1.2.4', '1.2.3')],
    ['no version', 'Failed', () => versionGate('v1.2.3', '1.2.3')],
  ])('take %s: %s', (_, outcome, judge) => {
    const result = judge();
    expect(result.outcome).toBe(outcome);
    expect(result.lines.length > 0).toBe(outcome === 'Failed');
  });

  it('do not take silence of a registry for a pass', () => {
    expect(auditFindings('{"error":{"summary":"no audit here"}}')).toBeUndefined();
  });
});

describe('documents', () => {
  it('list the content of an image', () => {
    const licences = `@scope/ajv 8.0.0 (MIT)\n\ntext\n\n${'-'.repeat(80)}\n\nother 1.0.0 (ISC)\n`;
    expect(bundled(licences)).toEqual([ajv, { type: 'npm', name: 'other', version: '1.0.0', licence: 'ISC' }]);
    expect(debian('Package: libc6\nVersion: 2.41-12\n\nPackage: git\nVersion: 1:2.47\n').map(purl)).toEqual([
      'pkg:deb/debian/libc6@2.41-12?distro=trixie',
      'pkg:deb/debian/git@1%3A2.47?distro=trixie',
    ]);
    const old = '{"name":"qr","version":"0.12.0","licenses":[{"type":"Apache 2.0"}]}';
    expect(installed(old)).toEqual([{ type: 'npm', name: 'qr', version: '0.12.0', licence: 'Apache-2.0' }]);
    expect(goModules('/tmp/runner: go1.26.8\n\tpath\tx\n\tdep\tgolang.org/x/sys\tv0.49.0\th1:x\n').map(purl)).toEqual([
      'pkg:golang/stdlib@1.26.8',
      'pkg:golang/golang.org/x/sys@0.49.0',
    ]);
  });

  it('are SPDX, in-toto and commands that name digests', () => {
    const bill = spdx(image, [ajv, { ...ajv, name: 'odd', licence: 'SEE LICENSE IN x' }], source);
    expect(bill).toMatchObject({
      spdxVersion: 'SPDX-2.3',
      packages: [
        { name: image.repository, checksums: [{ checksumValue: 'a'.repeat(64) }] },
        { licenseDeclared: 'MIT', externalRefs: [{ referenceLocator: 'pkg:npm/%40scope/ajv@8.0.0' }] },
        { name: 'odd', licenseDeclared: 'NOASSERTION' },
      ],
    });
    const { relationships, packages } = bill as { relationships: { relatedSpdxElement: string }[]; packages: { SPDXID: string }[] };
    expect(relationships.map(({ relatedSpdxElement }) => relatedSpdxElement)).toEqual(packages.map(({ SPDXID }) => SPDXID));
    expect(provenance(image, source, 'urn:x')).toMatchObject({
      subject: [{ name: image.repository, digest: { sha256: 'a'.repeat(64) } }],
      predicate: {
        buildDefinition: { externalParameters: { version: '1.2.3', commit: 'c0ffee' } },
        runDetails: { builder: { id: 'urn:x' } },
      },
    });
    for (const line of signCommands([image])) expect(line).toContain(`${image.repository}@${digest}`);
    expect(
      licenceReport(
        new Map([
          ['operator', [ajv]],
          ['agent', [ajv]],
        ]),
        source,
      ),
    ).toContain('| @scope/ajv | 8.0.0 | MIT | operator, agent |');
  });

  it('give chart and definitions the version of the release', () => {
    const about =
      "name: a\nversion: 0.1.0\nappVersion: 0.1.0\ndependencies:\n  - { name: a-crds, version: 0.1.0, condition: c }\nkubeVersion: '>=1'\n";
    expect(withVersion(about, '0.2.0')).toBe(about.replaceAll('0.1.0', '0.2.0'));
  });

  it('fill the chart with digests, and refuse an image that it has not', () => {
    expect(withImages("images:\n  # own\n  operator: ''\n", [image])).toBe(`images:\n  # own\n  operator: ${image.repository}@${digest}\n`);
    expect(() => withImages('images:\n', [image])).toThrow('no empty image operator');
  });
});
