let ahead = 0

/** Takes note of what the service's clock showed as it answered. */
export const noteDate = (header: string | null): void => {
  const shown = header === null ? Number.NaN : Date.parse(header)
  if (!Number.isNaN(shown)) ahead = shown - Date.now()
}

/** What the service's clock shows now, as far as its last answer told: milliseconds since 1970. */
export const serviceNow = (): number => Date.now() + ahead

/** Milliseconds by which the service's clock is ahead of this browser's. */
export const clockAhead = (): number => ahead
