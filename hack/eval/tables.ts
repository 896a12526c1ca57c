/** Tables of a document that a program writes: each between two marks that name it. */
const begin = (name: string): string => `<!-- table: ${name} -->`;
const end = '<!-- end -->';

/** The document with the table of that name replaced. @throws Error when the document has no place for it */
export function withTable(document: string, name: string, table: string): string {
  const from = document.indexOf(begin(name));
  const to = document.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`the document has no "${begin(name)}" and "${end}"; add both where the table belongs`);
  return `${document.slice(0, from + begin(name).length)}\n\n${table.trim()}\n\n${document.slice(to)}`;
}
