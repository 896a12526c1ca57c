// hack, release: SPDX, provenance and licence documents of a release. May import any package.
import { createHash } from 'node:crypto';
import type { Package } from './contents.ts';
import type { Allowed, GateResult } from './gates.ts';

/** Something that was pushed: an image or a chart. */
export interface Artifact {
  readonly name: string;
  /** `registry/path`, without tag and digest. */
  readonly repository: string;
  /** `sha256:…` of its manifest. */
  readonly digest: string;
}

/** Source of a release. */
export interface Source {
  readonly version: string;
  readonly commit: string;
  /** Of the commit, RFC 3339: two releases of one commit have equal documents. */
  readonly date: string;
  /** SHA-256 of `package-lock.json` and other files that determine the content of the images, by name. */
  readonly locks: Readonly<Record<string, string>>;
}

/** `name@sha256:…`, which never changes its meaning. */
export const pinned = ({ repository, digest }: Pick<Artifact, 'repository' | 'digest'>): string => `${repository}@${digest}`;

/** The address of a package as scanners of vulnerabilities know it (purl). Pure. */
export function purl({ type, name, version }: Package): string {
  const escaped = name.split('/').map(encodeURIComponent).join('/');
  const at = encodeURIComponent(version);
  return type === 'deb' ? `pkg:deb/debian/${escaped}@${at}?distro=trixie` : `pkg:${type}/${escaped}@${at}`;
}

/** A declared licence, when it is an SPDX expression. */
const expression = /^\(?[A-Za-z0-9.+-]+( (AND|OR|WITH) \(?[A-Za-z0-9.+-]+\)?)*\)?$/;

const idOf = (text: string): string => `SPDXRef-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;

/** The bill of materials of an image: SPDX 2.3, JSON. Pure. */
export function spdx({ name, repository, digest }: Artifact, packages: readonly Package[], { version, date }: Source): object {
  const image = { SPDXID: 'SPDXRef-image', name: repository, versionInfo: version };
  const unknown = { downloadLocation: 'NOASSERTION', filesAnalyzed: false, licenseConcluded: 'NOASSERTION', copyrightText: 'NOASSERTION' };
  const listed = packages.map((one) => ({
    SPDXID: idOf(purl(one)),
    name: one.name,
    versionInfo: one.version,
    ...unknown,
    licenseDeclared: one.licence !== undefined && expression.test(one.licence) ? one.licence : 'NOASSERTION',
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl(one) }],
  }));
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `agentfleet-${name}-${version}`,
    documentNamespace: `https://agentfleet.dev/spdx/${name}/${digest.replace(':', '-')}`,
    creationInfo: { created: date, creators: [`Tool: agentfleet-release-${version}`] },
    packages: [
      {
        ...image,
        ...unknown,
        licenseDeclared: 'Apache-2.0',
        checksums: [{ algorithm: 'SHA256', checksumValue: digest.slice('sha256:'.length) }],
      },
      ...listed,
    ],
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: image.SPDXID },
      ...listed.map(({ SPDXID }) => ({ spdxElementId: image.SPDXID, relationshipType: 'CONTAINS', relatedSpdxElement: SPDXID })),
    ],
  };
}

/** Returns how an artifact was made: an in-toto statement with a SLSA provenance, unsigned. Pure. */
export function provenance({ repository, digest }: Artifact, { version, commit, date, locks }: Source, builder: string): object {
  const dependencies = Object.entries(locks).map(([uri, sha256]) => ({ uri, digest: { sha256 } }));
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: repository, digest: { sha256: digest.slice('sha256:'.length) } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://agentfleet.dev/release/v1',
        externalParameters: { version, commit },
        resolvedDependencies: [{ uri: 'git+https://agentfleet.dev/source', digest: { gitCommit: commit } }, ...dependencies],
      },
      runDetails: { builder: { id: builder }, metadata: { startedOn: date } },
    },
  };
}

/** The identifiers in an expression; of `A OR B` one suffices. */
function isAllowed(licence: string, allowed: ReadonlySet<string>): boolean {
  const words = licence.replaceAll(/[()]/g, '');
  return words.split(' OR ').some((choice) => choice.split(' AND ').every((id) => allowed.has(id)));
}

/** Checks whether linked code has allowed licences; Debian's packages are beside our programs, not in them. Pure. */
export function licenceGate(images: ReadonlyMap<string, readonly Package[]>, { licences }: Allowed): GateResult {
  const allowed = new Set(licences);
  const lines = [...images].flatMap(([image, packages]) =>
    packages.flatMap(({ type, name, version, licence }) =>
      type !== 'npm' || (licence !== undefined && isAllowed(licence, allowed))
        ? []
        : [`${name} ${version} in ${image}: ${licence ?? 'it declares no licence'}`],
    ),
  );
  return { gate: 'licences', outcome: lines.length === 0 ? 'Passed' : 'Failed', lines };
}

/** The report of licences, Markdown: every package, its licence, the images that it is in. Pure. */
export function licenceReport(images: ReadonlyMap<string, readonly Package[]>, { version }: Source): string {
  const rows = new Map<string, { readonly of: Package; readonly in: string[] }>();
  for (const [image, packages] of images)
    for (const one of packages) {
      const row = rows.get(purl(one)) ?? { of: one, in: [] };
      row.in.push(image);
      rows.set(purl(one), row);
    }
  const cells = [...rows.values()].map(({ of, in: where }) => {
    const licence = of.licence ?? (of.type === 'deb' ? `/usr/share/doc/${of.name}/copyright` : 'in its source');
    return `| ${of.name} | ${of.version} | ${licence} | ${where.join(', ')} |`;
  });
  const head = ['| Package | Version | Licence | Images |', '| --- | --- | --- | --- |'];
  return [`# Licences of AgentFleet ${version}`, '', ...head, ...cells.toSorted(), ''].join('\n');
}

/** Returns commands that sign and attest a release with cosign; keyless unless a key is given to each. Pure. */
export function signCommands(artifacts: readonly Artifact[]): readonly string[] {
  return artifacts.flatMap((artifact) => [
    `cosign sign --yes ${pinned(artifact)}`,
    `cosign attest --yes --type slsaprovenance1 --predicate ${artifact.name}.provenance.json ${pinned(artifact)}`,
    ...(artifact.name.startsWith('chart')
      ? []
      : [`cosign attest --yes --type spdxjson --predicate ${artifact.name}.spdx.json ${pinned(artifact)}`]),
  ]);
}
