import type { BrowserContextOptions } from 'playwright-core'

/** Context options of every window. */
export const WINDOW = {
  viewport: { width: 1280, height: 800 },
  locale: 'en-GB',
  timezoneId: 'UTC',
  // Each frame of an animation is drawn.
  reducedMotion: 'reduce',
} as const satisfies BrowserContextOptions
