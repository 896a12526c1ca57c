// agent-image, checks/parse: parser for reports in JUnit XML. Imports no other folder of the worker.
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import type { CommandOutput, Outcome, ParsedResults } from './results.ts';
import { boundedName, Collector, linesOf, type Found } from './collector.ts';
import { failureOfBuild } from './summed.ts';

interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

const maxXmlBytes = 32 << 20;

type Node = Readonly<Record<string, unknown>>;

/**
 * Reads a document without entities: a DOCTYPE is refused (no XXE, no entity expansion), only the five predefined
 * entities and character references are decoded, nesting is bounded at 100.
 *
 * @throws Error with the fault; truncated documents are not well-formed.
 */
function readXml(text: string): XmlElement {
  const prolog = text.slice(0, Math.max(0, text.search(/<[A-Za-z_]/)));
  if (/<!DOCTYPE/i.test(prolog)) throw new Error('it has a DOCTYPE');
  // The validator accepts some cut ones.
  if (!text.trimEnd().endsWith('>')) throw new Error('it ends before its root element');
  const valid = XMLValidator.validate(text, { allowBooleanAttributes: false });
  if (valid !== true) throw new Error(`${valid.err.msg} (line ${valid.err.line})`);
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    processEntities: false,
    htmlEntities: false,
    parseTagValue: false,
    parseAttributeValue: false,
    trimValues: false,
    ignoreDeclaration: true,
    ignorePiTags: true,
    maxNestedTags: 100,
    jPath: false,
  });
  const nodes = parser.parse(text) as Node[];
  const roots = nodes.filter((node) => elementName(node) !== undefined).map(elementOf);
  const root = roots[0];
  if (root === undefined || roots.length !== 1) throw new Error('it has not exactly one root element');
  return root;
}

function elementName(node: Node): string | undefined {
  return Object.keys(node).find((key) => key !== ':@' && key !== '#text');
}

function elementOf(node: Node): XmlElement {
  const name = elementName(node) ?? '';
  const content = (node[name] ?? []) as Node[];
  const children: XmlElement[] = [];
  let text = '';
  for (const child of content) {
    if (elementName(child) === undefined) text += textOf(child['#text']);
    else children.push(elementOf(child));
  }
  return { name, attributes: attributesOf(node[':@']), children, text: decode(text) };
}

function attributesOf(value: unknown): Record<string, string> {
  const attributes: Record<string, string> = Object.create(null) as Record<string, string>;
  if (typeof value !== 'object' || value === null) return attributes;
  for (const [key, text] of Object.entries(value)) attributes[key.slice(1)] = decode(textOf(text));
  return attributes;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? `${value}` : '');

const predefined: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** XML 1.0 §4.1 and §4.6, in one pass: decoded text is not decoded again. */
function decode(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|([a-z]{2,4}));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return predefined[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number.parseInt(decimal, 10);
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
  });
}

const cure = 'let the runner write one whole JUnit file per run, and remove old ones before it';

/**
 * JUnit XML in the dialects of pytest, vitest, jest-junit, node:test, Surefire and go-junit-report (there is no
 * standard; the schema of Jenkins' xUnit plugin is the common ground). Report files are preferred; without any,
 * standard output may be the document.
 */
export function parseJUnit(output: CommandOutput): ParsedResults {
  const collector = new Collector();
  const files = output.files ?? [];
  const seen = new Map<string, { path: string; outcome: Outcome }>();
  for (const { path, bytes } of files) {
    const from = collector.size;
    readFile(collector, path, bytes);
    conflicts(collector, path, from, seen);
  }
  const printed = output.stdout.trim();
  if (files.length > 0) collector.source = 'Files';
  else if (looksLikeJUnit(printed)) readDocument(collector, 'standard output', printed);
  else {
    const why = failureOfBuild(linesOf(output.stdout).lines) ?? 'there is no JUnit report';
    collector.incomplete(why, 'read the output of the check, or name the report file in the command, for example --junitxml=report.xml');
  }
  return collector.finish('JUnit');
}

export const looksLikeJUnit = (text: string): boolean =>
  /^\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--[^>]{0,500}-->\s*)?<testsuites?[\s>/]/.test(text.slice(0, 2000));

function readFile(collector: Collector, path: string, bytes: Uint8Array): void {
  if (bytes.byteLength > maxXmlBytes)
    return collector.incomplete(`${path}: larger than ${maxXmlBytes} bytes`, 'turn off captured output in the report');
  readDocument(collector, path, new TextDecoder().decode(bytes).trim());
}

function readDocument(collector: Collector, path: string, text: string): void {
  if (text.length > maxXmlBytes) return collector.incomplete(`${path}: larger than ${maxXmlBytes} characters`, cure);
  try {
    const root = readXml(text);
    if (root.name !== 'testsuites' && root.name !== 'testsuite') throw new Error(`its root element is <${root.name}>`);
    readSuite(collector, path, root, []);
  } catch (error) {
    collector.incomplete(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`, cure);
  }
}

/** Reads one suite with its suites; returns the number of test cases in it. */
function readSuite(collector: Collector, path: string, suite: XmlElement, above: readonly string[]): number {
  const isRoot = suite.name === 'testsuites';
  const names = isRoot ? above : boundedNames([...above, boundedName(suite.attributes['name'] ?? '')]);
  let own = 0;
  let nested = 0;
  let failures = 0;
  for (const child of suite.children) {
    if (child.name === 'testsuite') nested += readSuite(collector, path, child, names);
    if (child.name !== 'testcase') continue;
    own += 1;
    // A failing `todo` of node:test is listed as a failure too.
    if (child.children.some(({ name }) => name === 'failure' || name === 'error')) failures += 1;
    const found = caseOf(child, names);
    collector.add({ ...found, id: [...taskOf(path), found.id].join(' > ') });
  }
  if (!isRoot) checkCounts(collector, `${path}: suite ${names.at(-1) ?? ''}`, suite, [own, own + nested, failures]);
  return own + nested;
}

/** Long names of suites as one: each of their tests is named by them. */
function boundedNames(names: readonly string[]): readonly string[] {
  const [first = '', ...others] = names;
  return names.join(' > ').length <= 2048 ? names : [first, boundedName(others.join(' > '))];
}

/** pytest counts a test again for each failing subtest or phase, so more than listed is fine up to those. */
function checkCounts(collector: Collector, where: string, suite: XmlElement, [own, total, failures]: readonly [number, number, number]) {
  const declared = numberOf(suite.attributes['tests']);
  const bad = (numberOf(suite.attributes['failures']) ?? 0) + (numberOf(suite.attributes['errors']) ?? 0);
  const skipped = (numberOf(suite.attributes['skipped']) ?? 0) + (numberOf(suite.attributes['disabled']) ?? 0);
  if (bad > 0 && failures === 0 && own === total) {
    collector.distrust('CountsDisagree', `${where} declares ${bad} failures and lists none`, cure);
  }
  if (declared === undefined || declared === own || declared === total) return;
  const surplus = declared - total;
  if (surplus > 0 && surplus <= bad + skipped) return;
  // Some runners count only direct children, suites among them (node:test).
  if (declared >= own && declared <= own + suite.children.filter(({ name }) => name === 'testsuite').length) return;
  collector.distrust('CountsDisagree', `${where} declares ${declared} tests and lists ${total}`, cure);
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function caseOf(element: XmlElement, suites: readonly string[]): Found {
  const seconds = Number.parseFloat(element.attributes['time'] ?? '');
  const marks = new Map(element.children.map((child) => [child.name, child]));
  const outcome = outcomeOf(marks, element.attributes['status']);
  const mark = marks.get('error') ?? marks.get('failure') ?? marks.get('skipped');
  const message = mark?.attributes['message'] ?? mark?.text.trim() ?? '';
  const id = caseId(element.attributes, suites);
  const kind = outcome === 'Errored' && message === 'collection failure' ? 'Container' : 'Test';
  return { id, outcome, kind, message, ...(Number.isFinite(seconds) && { seconds }) };
}

function outcomeOf(marks: ReadonlyMap<string, XmlElement>, status: string | undefined): Outcome {
  // A failing `todo` of node:test has both marks: the skip explains the failure.
  if (marks.get('skipped')?.attributes['type'] === 'todo') return 'Skipped';
  if (marks.has('error')) return 'Errored';
  if (marks.has('failure')) return 'Failed';
  if (marks.has('skipped') || status === 'notrun' || status === 'skipped' || status === 'disabled') return 'Skipped';
  return 'Passed';
}

/** Addresses in the words that Java has for an object without any: another one in each run. */
const addresses = /\$\$Lambda[$\d]*\/(?:0x)?[\da-f]{1,16}|@[\da-f]{4,8}\b/g;

/** Class and name; suites below the first level; the file instead of node:test's constant class. */
function caseId(attributes: XmlElement['attributes'], suites: readonly string[]): string {
  const classname = attributes['classname'] === 'test' ? (attributes['file'] ?? 'test') : (attributes['classname'] ?? '');
  const path =
    classname === ''
      ? suites.filter((name) => name !== 'pytest')
      : [...suites.slice(1).filter((name) => !within(classname, name)), classname];
  const name = (attributes['name'] ?? '').replaceAll(addresses, (found) => (found.startsWith('@') ? '@…' : '$$Lambda'));
  return [...path.filter((part, at) => part !== '' && !(at === path.length - 1 && part === name)), name].join(' > ');
}

/** Path of a report that a command need not name, with its module and its task. */
export const reportOfBuild = /^(?:(.+)\/)?build\/test-results\/([^/]+)\/[^/]+$/;

/** Module and task of a report of Gradle, but not the root and `test`: two of them may have tests of one name. */
function taskOf(path: string): readonly string[] {
  const [, module = '', task = 'test'] = reportOfBuild.exec(path) ?? [];
  return [module, task === 'test' ? '' : task].filter((part) => part !== '');
}

const within = (classname: string, suite: string): boolean =>
  classname === suite || classname.endsWith(`.${suite}`) || classname.startsWith(`${suite}.`);

/** Reports an id that both passes and fails in two files: one of them is old or forged. */
function conflicts(collector: Collector, path: string, from: number, seen: Map<string, { path: string; outcome: Outcome }>): void {
  for (const { id, outcome } of collector.found.slice(from)) {
    const before = seen.get(id);
    if (before !== undefined && before.path !== path && before.outcome !== outcome) {
      collector.distrust('ConflictingResult', `${id} is ${before.outcome} in ${before.path} and ${outcome} in ${path}`, cure);
    }
    if (before === undefined) seen.set(id, { path, outcome });
  }
}
