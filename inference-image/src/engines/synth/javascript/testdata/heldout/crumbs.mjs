/** The steps of a path, each with the address that leads there. */
export function crumbs(path) {
  const parts = path.split('/');
  return parts.map((name, at) => ({ name, href: `/${parts.slice(0, at + 1).join('/')}` }));
}
