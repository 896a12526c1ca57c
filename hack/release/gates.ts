import { execa } from 'execa';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildFamilies, goFacts } from '../cluster/build/binaries.ts';
import { repository } from '../images/parts.ts';

/** A vulnerability that a release may have, why, and until when (a day, inclusive). */
interface Exemption {
  readonly id: string;
  readonly reason: string;
  readonly until: string;
}

/** `allowed.json`: permitted content of a release. */
export interface Allowed {
  /** SPDX identifiers of licences that packages in our programs may have. */
  readonly licences: readonly string[];
  readonly vulnerabilities: readonly Exemption[];
}

/** Result of a gate. NotRun: it was not checked, which is no pass. */
export interface GateResult {
  readonly gate: string;
  readonly outcome: 'Passed' | 'Failed' | 'NotRun';
  readonly lines: readonly string[];
}

/** A known vulnerability in a dependency. */
export interface Finding {
  readonly id: string;
  readonly where: string;
  readonly title: string;
}

/** Reads the list of permitted content. */
export async function readAllowed(): Promise<Allowed> {
  return JSON.parse(await readFile(join(import.meta.dirname, 'allowed.json'), 'utf8')) as Allowed;
}

/** Judges vulnerabilities by the exemptions of a day, `YYYY-MM-DD`; one under an exemption that has ended fails. Pure. */
export function judgeFindings(gate: string, findings: readonly Finding[], exemptions: readonly Exemption[], today: string): GateResult {
  const lines = findings.flatMap(({ id, where, title }) => {
    const exemption = exemptions.find((known) => known.id === id);
    if (exemption === undefined) return [`${id} in ${where}: ${title}`];
    return exemption.until < today ? [`${id} in ${where}: its exemption ended on ${exemption.until} (${exemption.reason})`] : [];
  });
  return { gate, outcome: lines.length === 0 ? 'Passed' : 'Failed', lines: [...new Set(lines)] };
}

interface AuditReport {
  readonly error?: { readonly summary?: string };
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly via: readonly (string | { readonly url?: string; readonly title?: string })[] }>
  >;
}

/** Findings in the JSON of `npm audit`; undefined: the registry gave no answer. Pure. */
export function auditFindings(text: string): readonly Finding[] | undefined {
  const report = JSON.parse(text) as AuditReport;
  if (report.vulnerabilities === undefined) return undefined;
  return Object.entries(report.vulnerabilities).flatMap(([where, { via }]) =>
    via.flatMap((cause) =>
      typeof cause === 'string' ? [] : [{ id: cause.url?.split('/').at(-1) ?? '?', where, title: cause.title ?? '' }],
    ),
  );
}

interface VulnMessage {
  readonly finding?: { readonly osv: string; readonly trace: readonly { readonly module: string; readonly function?: string }[] };
}

/** Findings in the JSON of govulncheck whose functions are called; others cannot do harm. Pure. */
export function vulnFindings(text: string): readonly Finding[] {
  // Indented objects one after the other.
  const messages = text
    .split(/^(?=\{)/m)
    .filter((part) => part.trim() !== '')
    .map((part) => JSON.parse(part) as VulnMessage);
  return messages.flatMap(({ finding }) => {
    const [at] = finding?.trace ?? [];
    return finding === undefined || at?.function === undefined
      ? []
      : [{ id: finding.osv, where: at.module, title: `calls ${at.function}` }];
  });
}

/** `npm audit` of everything that is in an image. */
export async function auditGate({ vulnerabilities }: Allowed, today: string): Promise<GateResult> {
  const { stdout } = await execa('npm', ['audit', '--omit=dev', '--json', '--audit-level=none'], { cwd: repository, reject: false });
  const findings = auditFindings(stdout === '' ? '{}' : stdout);
  if (findings === undefined) return { gate: 'npm audit', outcome: 'NotRun', lines: ['the registry of npm packages answered no audit'] };
  return judgeFindings('npm audit', findings, vulnerabilities, today);
}

/** `govulncheck` of the runner. */
export async function vulnGate({ vulnerabilities }: Allowed, today: string): Promise<GateResult> {
  const gate = 'govulncheck';
  try {
    const go = await goFacts();
    if (go === undefined) return { gate, outcome: 'NotRun', lines: ['there is no go command'] };
    const program = (await buildFamilies(['govulncheck'], go, () => {})).path('govulncheck');
    const { stdout } = await execa(program, ['-format', 'json', './...'], { cwd: join(repository, 'sandbox-image/runner') });
    return judgeFindings(gate, vulnFindings(stdout), vulnerabilities, today);
  } catch (error) {
    // Its last line has the reason, such as a database that cannot be reached.
    const words = (error as { readonly stderr?: string }).stderr ?? String(error);
    return { gate, outcome: 'NotRun', lines: [words.trim().split('\n').at(-1) ?? ''] };
  }
}

/** Checks the CHANGELOG for a version: a section with text; a pre-release may still be under Unreleased. Pure. */
export function changelogGate(text: string, version: string): GateResult {
  const sections = new Map(
    text
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.split('\n')[0]?.split(' ')[0] ?? '', section.split('\n').slice(1).join('\n').trim()]),
  );
  const wanted = sections.has(version) || !version.includes('-') ? version : 'Unreleased';
  const words = sections.get(wanted);
  const lines = words === undefined ? [`CHANGELOG.md has no section "## ${wanted}"`] : words === '' ? [`"## ${wanted}" says nothing`] : [];
  return { gate: 'CHANGELOG', outcome: lines.length === 0 ? 'Passed' : 'Failed', lines };
}

/** Checks whether a version is that of the project, or a pre-release of it. Pure. */
export function versionGate(version: string, project: string): GateResult {
  const isVersion = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version);
  const fits = isVersion && version.split('-')[0] === project;
  const cure = isVersion ? `package.json has ${project}: change it there and in Chart.yaml` : 'write it like 1.2.3 or 1.2.3-rc.1';
  return { gate: 'version', outcome: fits ? 'Passed' : 'Failed', lines: fits ? [] : [`${version} cannot be released: ${cure}`] };
}
