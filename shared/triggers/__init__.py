"""What asks for work by itself: deliveries of code hosts, polls, and which versions they follow."""
