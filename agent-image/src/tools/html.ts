/** Elements whose content nobody reads. */
const unread = /<(script|style|noscript|template|svg)\b[^>]*>[^]*?(?:<\/\1\s*>|$)/gi;
const comments = /<!--[^]*?(?:-->|$)/g;
const blocks =
  /<\/?(?:p|div|section|article|header|footer|main|nav|aside|ul|ol|dl|dt|dd|table|tr|h[1-6]|pre|blockquote|br|hr|form|title)\b[^>]*>/gi;
const items = /<li\b[^>]*>/gi;
const cells = /<\/t[dh]\s*>/gi;
const tags = /<\/?[a-z!][^>]*>/gi;

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** The text of an HTML page, without layout: enough to read documentation by. */
export function htmlText(html: string): string {
  const text = html
    .replaceAll(comments, '')
    .replaceAll(unread, '')
    .replaceAll(items, '\n- ')
    .replaceAll(cells, '\t')
    .replaceAll(blocks, '\n')
    .replaceAll(tags, '')
    .replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, decoded);
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

function decoded(entity: string, decimal: string | undefined, hex: string | undefined, name: string | undefined): string {
  if (name !== undefined) return entities[name.toLowerCase()] ?? entity;
  const point = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return point <= 0x10ffff ? String.fromCodePoint(point) : entity;
}
