package kkbox

import "strings"

// script is what names of a language are written in.
type script uint8

const (
	latin script = iota
	chinese
	korean
	japanese
)

var (
	chineseSurnames = []rune("陳林黃張李王吳劉蔡楊許鄭謝洪郭邱曾廖賴徐周葉蘇莊呂江何蕭羅高潘簡朱鍾游彭詹胡施沈")
	chineseLatin    = strings.Fields("Chen Lin Huang Jang Lee Wang Wu Liu Tsai Yang Hsu Cheng Hsieh Hung Kuo Chiu Tseng Liao Lai Xu " +
		"Chou Yeh Su Chuang Lu Chiang Ho Hsiao Lo Kao Pan Chien Chu Chung Yu Peng Chan Hu Shih Shen")
	chineseGiven = []rune("傑倫信哲宗緯俊宏惠妹佳瑩怡君志明淑芬雅婷家豪美玲建國欣宜子涵品妍宇軒承恩柏翰詩心思齊文龍天佑小春秋月星海山水花雪雲風雨晴光" +
		"夢真愛永康安平正義德仁智勇清華麗珍珠玉金銀飛鳴遠")
	koreanSurnames = []rune("김이박최정강조윤장임한오서신권황안송전홍")
	koreanGiven    = []rune("민서준도윤하은지우주원시현예수아진영호성재훈태연경미선희정혜인규석동철상욱빈솔별나라다온유찬결한")
	japaneseFirst  = []rune("佐鈴高田渡伊山中小加吉松井木林清斎藤橋本村石川原谷浜崎宇多椎名")
	japaneseKana   = []rune("あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわん")
	japaneseKata   = []rune("アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン")

	latinFirst = strings.Fields("Jeff Amy Tom Anna Ed Kate Jay Ella Sam Nina Max Rita Leo Dora Ben Ivy Carl Mia Luis Eva Otto Zoe Hugo Lena Ray Ada Finn Gwen Ian Joy " +
		"Karl Liv Mark Noa Paul Rosa Sven Tina Uma Vera Will Yara Adam Bea Cole Dina Erik Faye")
	latinHeads = strings.Fields("Ber Cal Dar El Fen Gar Hol Jen Kar Lam Mor Nor Per Ral San Tor Ver Wil Zan Bran")
	latinMids  = strings.Fields("a e i o an en in on ar er il ou ey al")
	latinTails = strings.Fields("ton ley man berg son field well dale ford wood mont rick stein ville croft")
	latinWords = strings.Fields("Love Night Heart You Me The Of Dance Time Fire Home Rain Summer Blue Light Dream Road Girl Boy Again Forever Never " +
		"Alone Tonight World Sky Sun Moon River Angel Party Body Baby Crazy Gold Young Wild Free Lost Way Down Up Away Symphony Sonata " +
		"No. Op. Major Minor Movement Theme Waltz Blues Song Story Life Day Without With In On")
	titleTails = []string{" (Live)", " (Remix)", " - Live", " (Album Version)", " - Instrumental", " (Acoustic Version)", " (feat. Kid Ray)", "(Karaoke)"}
)

// scramble spreads numbers so that neighbours have unlike names; it is one to
// one on 32 bits.
func scramble(x uint32) uint32 {
	x = (x ^ x>>16) * 0x7feb352d
	x = (x ^ x>>15) * 0x846ca68b
	return x ^ x>>16
}

// appendPerson appends the name of the person or band of a number. Numbers that
// are less than 200,000 apart have different names.
func appendPerson(b []byte, s script, number int) []byte {
	k := number
	digit := func(base int) int {
		d := k % base
		k /= base
		return d
	}
	// spread makes neighbours differ in all parts of the name: 7919 is a prime
	// that does not divide the number of names.
	spread := func(names int) { k = number/names*names + number%names*7919%names }
	switch s {
	case chinese:
		spread(len(chineseSurnames) * len(chineseGiven) * len(chineseGiven))
		surname := digit(len(chineseSurnames))
		one, two := digit(len(chineseGiven)), digit(len(chineseGiven))
		b = append(b, string(chineseSurnames[surname])...)
		b = append(b, string(chineseGiven[one])...)
		b = append(b, string(chineseGiven[(two+one)%len(chineseGiven)])...)
		if scramble(uint32(number))%10 < 3 {
			b = append(b, " ("...)
			b = append(b, latinFirst[number%len(latinFirst)]...)
			b = append(b, ' ')
			b = append(b, chineseLatin[surname]...)
			b = append(b, ')')
		}
	case korean:
		spread(len(koreanSurnames) * len(koreanGiven) * len(koreanGiven))
		b = append(b, string(koreanSurnames[digit(len(koreanSurnames))])...)
		b = append(b, string(koreanGiven[digit(len(koreanGiven))])...)
		b = append(b, string(koreanGiven[digit(len(koreanGiven))])...)
		for ; k > 0; k /= len(koreanGiven) {
			b = append(b, string(koreanGiven[k%len(koreanGiven)])...)
		}
	case japanese:
		spread(len(japaneseFirst) * len(japaneseFirst) * len(japaneseKana) * len(japaneseKata))
		b = append(b, string(japaneseFirst[digit(len(japaneseFirst))])...)
		b = append(b, string(japaneseFirst[digit(len(japaneseFirst))])...)
		if scramble(uint32(number))%4 == 0 {
			b = append(b, "\u3000"...) // the full-width blank between family and given name
		}
		b = append(b, string(japaneseKana[digit(len(japaneseKana))])...)
		b = append(b, string(japaneseKata[digit(len(japaneseKata))])...)
	default:
		spread(len(latinFirst) * len(latinHeads) * len(latinMids) * len(latinTails))
		first := latinFirst[digit(len(latinFirst))]
		b = append(b, first...)
		b = append(b, ' ')
		if scramble(uint32(number))%300 == 0 {
			b = append(b, `"Big" `...)
		}
		b = append(b, latinHeads[digit(len(latinHeads))]...)
		b = append(b, latinMids[digit(len(latinMids))]...)
		b = append(b, latinTails[digit(len(latinTails))]...)
		if k > 0 {
			b = append(b, ' ')
			b = append(b, latinWords[k%len(latinWords)]...)
		}
		if s := scramble(uint32(number)) >> 8; s%40 == 0 {
			b = append(b, " feat. "...)
			b = append(b, latinFirst[(number/7)%len(latinFirst)]...)
		}
	}
	return b
}

// appendTitle appends a song's name. Names repeat, as they do.
func appendTitle(b []byte, s script, h uint32) []byte {
	next := func(base int) int {
		h = scramble(h + 0x9e3779b9)
		return int(h % uint32(base))
	}
	words := 1 + next(4)
	for i := range words {
		switch s {
		case chinese:
			b = append(b, string(chineseGiven[next(len(chineseGiven))])...)
			if next(2) == 0 {
				b = append(b, string(chineseGiven[next(len(chineseGiven))])...)
			}
		case korean:
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, string(koreanGiven[next(len(koreanGiven))])...)
			b = append(b, string(koreanGiven[next(len(koreanGiven))])...)
		case japanese:
			b = append(b, string(japaneseKana[next(len(japaneseKana))])...)
			b = append(b, string(japaneseKata[next(len(japaneseKata))])...)
		default:
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, latinWords[next(len(latinWords))]...)
		}
	}
	switch r := next(400); {
	case r < 40:
		b = append(b, titleTails[next(len(titleTails))]...)
	case r < 48:
		b = append(b, "| Op. 18| No. 1"...) // commas are bars in the real files
	case r == 48:
		b = append(b, ` "Reprise"`...)
	}
	return b
}
