import type { BrowserContextOptions } from 'playwright-core'

/** What a window is like on every machine. */
export const WINDOW = {
  viewport: { width: 1280, height: 800 },
  locale: 'en-GB',
  timezoneId: 'UTC',
} as const satisfies BrowserContextOptions
