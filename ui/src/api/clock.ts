let ahead = 0

/** Stores the difference between the service's clock (`Date` header) and the browser's. */
export const noteDate = (header: string | null): void => {
  const shown = header === null ? Number.NaN : Date.parse(header)
  if (!Number.isNaN(shown)) ahead = shown - Date.now()
}

/** Current time by the service's clock, in ms since 1970, estimated from its last answer. */
export const serviceNow = (): number => Date.now() + ahead

/** Offset of the service's clock from the browser's, in ms. */
export const clockAhead = (): number => ahead
