type Row = Record<string, unknown>;

/** Some fields of a row; those that it does not have are left out. */
export function pickFields(row: Row, fields: readonly string[]): Row {
  const picked: Row = {};
  for (const field of fields) {
    if (row[field]) {
      picked[field] = row[field];
    }
  }
  return picked;
}
