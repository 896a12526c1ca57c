/** The list of tags without one; the list itself stays as it is. */
export function removeTag(tags, tag) {
  const at = tags.indexOf(tag);
  if (at > 0) {
    return [...tags.slice(0, at), ...tags.slice(at + 1)];
  }
  return tags;
}
