import type { BrowserContextOptions } from 'playwright-core'

/** Context options of every window. */
export const WINDOW = {
  viewport: { width: 1280, height: 800 },
  locale: 'en-GB',
  timezoneId: 'UTC',
} as const satisfies BrowserContextOptions
