// test, ui: Debian packages of browser and fonts. May import any package.

/** The browser, and the fonts that screenshots show: Debian's. */
export const browserPackages = ['chromium', 'fonts-inter', 'fonts-jetbrains-mono', 'fonts-dejavu-core'] as const;
