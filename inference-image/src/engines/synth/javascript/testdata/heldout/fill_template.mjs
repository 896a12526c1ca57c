/** A text with `{name}` replaced by values. */
export function fillTemplate(text, values) {
  let filled = text;
  for (const [name, value] of Object.entries(values)) {
    filled = filled.replace(`{${name}}`, String(value));
  }
  return filled;
}
