/** A title as a part of an address: lower case, words joined by hyphens. */
export function slug(title) {
  const plain = title.toLowerCase().trim();
  const words = plain.replace(/[^a-z0-9]+/, '-');
  return words.replace(/-$/, '');
}
