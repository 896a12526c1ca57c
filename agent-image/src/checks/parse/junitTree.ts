import { XMLParser, XMLValidator } from 'fast-xml-parser';

/** An element with its attributes, child elements and own text. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

export const maxXmlBytes = 32 << 20;

type Node = Readonly<Record<string, unknown>>;

/**
 * Reads a document without entities: a DOCTYPE is refused (no XXE, no entity expansion), only the five
 * predefined entities and character references are decoded, nesting is bounded at 100.
 *
 * @throws Error with what is wrong; truncated documents are not well-formed.
 */
export function readXml(text: string): XmlElement {
  const prolog = text.slice(0, Math.max(0, text.search(/<[A-Za-z_]/)));
  if (/<!DOCTYPE/i.test(prolog)) throw new Error('it has a DOCTYPE');
  if (!closes(text)) throw new Error('it ends before its root element');
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

/** The document's last markup closes something: the validator accepts some cut ones. */
function closes(text: string): boolean {
  return text.trimEnd().endsWith('>');
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

/** XML 1.0 §4.1 and §4.6, in one pass: what comes out is not decoded again. */
function decode(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|([a-z]{2,4}));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return predefined[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number.parseInt(decimal, 10);
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
  });
}
