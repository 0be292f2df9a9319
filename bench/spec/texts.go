package main

import (
	"strings"

	"github.com/sluice-dev/sluice/host/spec"
)

// workload is a kind of text.
type workload struct {
	name   string
	prompt func(stream int) string
	params spec.Params
}

var quoting = workload{
	name: "Text that quotes its prompt, greedy",
	prompt: func(stream int) string {
		p := passages[stream%len(passages)]
		return strings.Repeat(p+"\n\n", 3) + p[:begun+strings.Index(p[begun:], " ")]
	},
}

// begun is about how many bytes of the fourth time a prompt gives.
const begun = 20

var ordinary = workload{
	name: "Ordinary prompts, temperature 0.8",
	prompt: func(stream int) string {
		return "<|im_start|>user\n" + questions[stream%len(questions)] + "<|im_end|>\n<|im_start|>assistant\n"
	},
	params: spec.Params{Temperature: 0.8, TopP: 0.95},
}

// passages are about as long as an answer. A model that has seen one three times writes it a fourth time.
var passages = []string{
	`The harbour office opens at six. Boats that leave before eight report to the north pier, where the tide tables hang beside the door and the
keeper notes the name of each skipper in a blue book. Those that leave later report to the south pier. Nobody may sail when the red flag is up, and
the flag stays up until the wind has fallen below twenty knots for an hour. A boat that comes back ties up at the first free ring, pays four coins for
the night, and hands the key of its engine to the keeper, who hangs it on a nail with the number of the ring.`,
	`Article 1. The library lends books for three weeks. Article 2. A reader may keep six books at a time. Article 3. A book that another reader waits
for cannot be renewed. Article 4. Who returns a book late pays ten cents a day, and never more than the price of the book. Article 5. Maps, newspapers and
the encyclopaedia stay in the house. Article 6. The reading room is open from nine to five, on Thursdays to eight. Article 7. Bread may be eaten on the
stairs and in the garden, and nowhere else.`,
	`To start the pump, close the drain and open the valve on the left by half a turn. Wait until the needle stands between two and three. Then press the
green button and hold it for five seconds. The motor runs slowly at first and faster after a minute; if it does not, press the red button, wait until
everything stands still, and begin again with the drain. Write the hour and the level of the tank on the sheet beside the switch. When the tank is full,
close the valve first and press the red button after that, never the other way round.`,
	`The night train from the coast has nine cars. The first two carry mail, the third one bicycles and the fourth one a kitchen that serves soup until
midnight. Travellers sleep in the cars from five to eight, six to a room, and the guard wakes them a quarter of an hour before their station. The last
car is locked as far as the border, where the customs officers climb in with their lamps and their dog. In winter the train may be two hours
late, since the line over the pass is cleared of snow by a single plough.`,
}

var questions = []string{
	"Tell me about a day in the life of a lighthouse keeper.",
	"Why does bread rise, and what happens when it does not?",
	"Write a letter to a friend who has moved to another country.",
	"How would you explain gravity to a child of eight?",
	"What should I think of before I buy a used bicycle?",
	"Describe a market in the early morning.",
	"Give me three ideas for a dinner without an oven.",
	"What is the difference between a lake and a pond?",
	"Write the beginning of a story about a missing key.",
	"How do I prepare for a long walk in the mountains?",
	"Which plants grow well on a shady balcony?",
	"Summarise how a letter finds its way to its reader.",
	"Why do we sleep?",
	"What makes a good teacher?",
	"Explain what a budget is and how to keep one.",
	"Describe the sound of rain on different roofs.",
}
