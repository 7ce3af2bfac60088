/**
 * Canonical JSON (RFC 8785): members sorted by UTF-16 code units, no white space. Members with the value undefined are
 * left out. Throws on NaN and infinite numbers.
 */
export const canonical = (value: unknown): string => {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${value} is not a JSON number`)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(',')}]`
  const object = value as Record<string, unknown>
  let text = ''
  for (const key of Object.keys(object).sort()) {
    const member = object[key]
    if (member !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonical(member)}`
  }
  return `{${text}}`
}
