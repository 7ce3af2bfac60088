const instant =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,3})\d*)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * Converts an RFC 3339 timestamp to UTC text with milliseconds; further digits are truncated. The result is undefined
 * for other text, impossible days, and years outside 0000 to 9999.
 */
export const instantOf = (text: string): string | undefined => {
  const parts = instant.exec(text)
  if (!parts) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', sign, hours = '0', minutes = '0'] = parts
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}Z`
  const time = Date.parse(local)
  if (Number.isNaN(time) || new Date(time).toISOString() !== local) return undefined
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1)
  const utc = new Date(time - offset).toISOString()
  return utc.length === 24 ? utc : undefined
}
