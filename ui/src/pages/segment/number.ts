const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const hexadecimal = /^[+-]?0x(?:[\da-f]+(?:\.[\da-f]*)?|\.[\da-f]+)p[+-]?\d+$/i
const named = /^(?:[+-]?inf(?:inity)?|nan)$/i
const inList = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

/** Whether a text is a number for the service (api.md §8.4); one that is too large is none. */
export const isNumber = (text: string): boolean =>
  decimal.test(text) ? Number.isFinite(Number(text)) : hexadecimal.test(text) || named.test(text)

/** Whether a text is a number as it may stand in a list. */
export const isListNumber = (text: string): boolean => inList.test(text) && Number.isFinite(Number(text))
